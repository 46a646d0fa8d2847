// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/request_message.hpp"

#include <cstring>

namespace triax {
namespace {

using nlohmann::json;

json json_of(const TokenLikelihood& token) {
  return {token.token, token.log_probability, token.alternatives};
}

std::vector<TokenLikelihood> tokens_of(const json& list) {
  std::vector<TokenLikelihood> tokens;
  for (const json& one : list)
    tokens.push_back({one[0].get<std::int32_t>(), one[1].get<float>(),
                      one[2].get<std::vector<std::pair<std::int32_t, float>>>()});
  return tokens;
}

json list_of(const std::vector<TokenLikelihood>& tokens) {
  json list = json::array();
  for (const TokenLikelihood& token : tokens) list.push_back(json_of(token));
  return list;
}

}  // namespace

json json_of(const GenerationRequest& request) {
  const TokenChoice& choice = request.choice;
  return {{"id", request.id},
          {"prompt", request.prompt},
          {"numbers",
           {choice.temperature, choice.top_p, choice.min_p, choice.repetition_penalty,
            choice.presence_penalty, choice.frequency_penalty}},
          {"top_k", choice.top_k},
          {"tokens", choice.tokens},
          {"bias", choice.logit_bias},
          {"seed", choice.seed},
          {"max", request.max_tokens},
          {"min", request.min_tokens},
          {"ends", request.end_tokens},
          {"alternatives", request.log_probabilities},
          {"scores", request.prompt_log_probabilities},
          {"pooling", static_cast<int>(request.pooling)},
          {"form",
           {static_cast<int>(request.constraint.kind), request.constraint.text,
            request.constraint.before, request.constraint.after}}};
}

GenerationRequest request_of(const json& from) {
  GenerationRequest request;
  request.id = from["id"];
  request.prompt = from["prompt"].get<std::vector<std::int32_t>>();
  TokenChoice& choice = request.choice;
  const json& numbers = from["numbers"];
  choice.temperature = numbers[0];
  choice.top_p = numbers[1];
  choice.min_p = numbers[2];
  choice.repetition_penalty = numbers[3];
  choice.presence_penalty = numbers[4];
  choice.frequency_penalty = numbers[5];
  choice.top_k = from["top_k"];
  choice.tokens = from["tokens"];
  choice.logit_bias = from["bias"].get<std::vector<std::pair<std::int32_t, float>>>();
  choice.seed = from["seed"];
  request.max_tokens = from["max"];
  request.min_tokens = from["min"];
  request.end_tokens = from["ends"].get<std::vector<std::int32_t>>();
  request.log_probabilities = from["alternatives"];
  request.prompt_log_probabilities = from["scores"];
  request.pooling = static_cast<Pooling>(from["pooling"].get<int>());
  const json& form = from["form"];
  request.constraint = {static_cast<ConstraintSpec::Kind>(form[0].get<int>()),
                        form[1].get<std::string>(), form[2].get<std::string>(),
                        form[3].get<std::string>()};
  return request;
}

json json_of(const GenerationOutput& output) {
  return {{"id", output.id},
          {"prompt", list_of(output.prompt)},
          {"tokens", list_of(output.tokens)},
          {"embedding", output.embedding},
          {"finished", output.finished ? static_cast<int>(*output.finished) : -1},
          {"error", output.error}};
}

GenerationOutput output_of(const json& from) {
  GenerationOutput output;
  output.id = from["id"];
  output.prompt = tokens_of(from["prompt"]);
  output.tokens = tokens_of(from["tokens"]);
  output.embedding = from["embedding"].get<std::vector<float>>();
  if (const int finished = from["finished"]; finished >= 0)
    output.finished = static_cast<FinishReason>(finished);
  output.error = from["error"];
  return output;
}

json json_of(const EngineState& state) {
  return {state.waiting,           state.running,       state.steps,
          state.prompt_tokens,     state.answer_tokens, state.preemptions,
          state.prefix_hit_tokens, state.cache_blocks,  state.free_cache_blocks,
          state.accepted_tokens};
}

EngineState state_of(const json& from) {
  return {from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7], from[8], from[9]};
}

std::vector<std::int32_t> packed(const json& value) {
  const std::vector<std::uint8_t> bytes = json::to_msgpack(value);
  std::vector<std::int32_t> numbers(1 + (bytes.size() + 3) / 4);
  numbers[0] = static_cast<std::int32_t>(bytes.size());
  std::memcpy(numbers.data() + 1, bytes.data(), bytes.size());
  return numbers;
}

json unpacked(std::span<const std::int32_t> numbers) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(numbers.data() + 1);
  return json::from_msgpack(bytes, bytes + numbers[0]);
}

}  // namespace triax
