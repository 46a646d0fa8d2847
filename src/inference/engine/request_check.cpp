// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/request_check.hpp"

#include "kernels/base/check.hpp"
#include "src/inference/constraint/constraint.hpp"

namespace triax {
namespace {

void check_token(std::int32_t token, const char* of, std::int64_t vocabulary) {
  if (token < 0 || token >= vocabulary)
    throw UsageError(fmt::format("token {} of {} is not a token of the model", token, of),
                     fmt::format("its vocabulary has {} tokens", vocabulary),
                     "Use the model's tokenizer");
}

void check_range(const char* name, double value, double least, double most) {
  if (!(value >= least && value <= most))
    throw UsageError(fmt::format("{} is {}", name, value),
                     fmt::format("it must be from {} to {}", least, most), "Correct it");
}

void check_choice(const TokenChoice& choice, std::int64_t vocabulary) {
  constexpr double large = 1e6;
  check_range("temperature", choice.temperature, 0.0, large);
  check_range("top_k", choice.top_k, 0, large * large);
  check_range("top_p", choice.top_p, 1e-12, 1.0);
  check_range("min_p", choice.min_p, 0.0, 1.0);
  check_range("repetition_penalty", choice.repetition_penalty, 1e-6, large);
  check_range("presence_penalty", choice.presence_penalty, -large, large);
  check_range("frequency_penalty", choice.frequency_penalty, -large, large);
  for (const auto& [token, bias] : choice.logit_bias) {
    check_token(token, "logit_bias", vocabulary);
    check_range("logit_bias", bias, -large, large);
  }
}

}  // namespace

void check_request(const GenerationRequest& request, std::int64_t context,
                   std::int64_t vocabulary) {
  const std::int64_t length = std::ssize(request.prompt);
  if (length < 1) throw UsageError("the prompt is empty", "a model continues text", "Give a token");
  const std::int64_t least = length + (request.max_tokens > 0 ? 1 : 0);
  if (least > context)
    throw UsageError(fmt::format("the prompt has {} tokens", length),
                     fmt::format("the context has {}, with the answer", context),
                     "Shorten the prompt");
  if (request.max_tokens < 0 || request.min_tokens < 0)
    throw UsageError(
        fmt::format("an answer of {} to {} tokens", request.min_tokens, request.max_tokens), {},
        "Give numbers from 0");
  for (const std::int32_t token : request.prompt) check_token(token, "the prompt", vocabulary);
  for (const std::int32_t token : request.end_tokens)
    check_token(token, "the end tokens", vocabulary);
  if (request.pooling != Pooling::none && request.max_tokens > 0)
    throw UsageError("an embedding with an answer", {}, "Ask for 0 tokens");
  check_choice(request.choice, vocabulary);
  (void)grammar_of(request.constraint);
}

}  // namespace triax
