// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/sequential_engine.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "src/inference/engine/answer_form.hpp"
#include "src/inference/engine/request_check.hpp"
#include "src/inference/sampling/choose_token.hpp"

namespace triax {
void SequentialEngine::submit(GenerationRequest request) {
  check_request(request, context(), vocabulary());
  if (request.pooling != Pooling::none)
    throw UsageError("embeddings are not computed on a GPU yet", {}, "Serve with --device cpu");
  if (auto form = constraints_.make(request.constraint)) forms_[request.id] = std::move(form);
  request.max_tokens = std::min(request.max_tokens, context() - std::ssize(request.prompt));
  open_.push_back(std::move(request));
}

void SequentialEngine::cancel(std::uint64_t id) {
  const auto found = std::ranges::find(open_, id, &GenerationRequest::id);
  if (found == open_.end()) return;
  forms_.erase(id);
  if (found == open_.begin()) {
    scored_.clear();
    answer_.clear();
    logits_ = nullptr;
  }
  open_.erase(found);
}

void SequentialEngine::finish(GenerationOutput& output, FinishReason reason) {
  output.finished = reason;
  cancel(output.id);
}

GenerationOutput SequentialEngine::failed(GenerationOutput output, std::string failure) {
  output.error = std::move(failure);
  finish(output, FinishReason::error);
  return output;
}

GenerationOutput SequentialEngine::score_prompt() {
  const GenerationRequest& request = open_.front();
  GenerationOutput output{.id = request.id};
  if (logits_ == nullptr) {
    logits_ = &generator_.logits({request.prompt.front()});
    ++state_.prompt_tokens;
  }
  if (std::string failure = failure_of(*logits_, {}); !failure.empty())
    return failed(std::move(output), std::move(failure));
  if (scored_.size() + 1 < request.prompt.size()) {
    const std::int32_t token = request.prompt[scored_.size() + 1];
    scored_.push_back(likelihood_of(*logits_, token, std::max(0, request.log_probabilities)));
    logits_ = &generator_.logits_after(token);
    ++state_.prompt_tokens;
  }
  if (scored_.size() + 1 == request.prompt.size() && request.max_tokens == 0) {
    output.prompt = std::move(scored_);
    finish(output, FinishReason::length);
  }
  return output;
}

GenerationOutput SequentialEngine::next_token() {
  const GenerationRequest& request = open_.front();
  GenerationOutput output{.id = request.id};
  if (!answer_.empty()) {
    logits_ = &generator_.logits_after(answer_.back());
  } else if (logits_ == nullptr) {
    logits_ = &generator_.logits(request.prompt);
    state_.prompt_tokens += std::ssize(request.prompt);
  }
  const auto form = forms_.find(request.id);
  Constraint* const constraint = form == forms_.end() ? nullptr : form->second.get();
  const auto mask = mask_of(constraint, request);
  if (const std::string failure = failure_of(*logits_, mask); !failure.empty())
    return failed(std::move(output), failure);
  const std::int32_t token =
      triax::next_token(*logits_, request.choice, request.prompt, answer_,
                        request.banned_at(std::ssize(answer_)), mask ? &*mask : nullptr);
  if (answer_.empty()) output.prompt = std::move(scored_);
  output.tokens.push_back(likelihood_of(*logits_, token, request.log_probabilities));
  answer_.push_back(token);
  ++state_.answer_tokens;
  if (ends_answer(constraint, request, token))
    finish(output, FinishReason::stop);
  else if (std::ssize(answer_) >= request.max_tokens)
    finish(output, FinishReason::length);
  return output;
}

std::vector<GenerationOutput> SequentialEngine::step() {
  if (open_.empty()) return {};
  ++state_.steps;
  const GenerationRequest& first = open_.front();
  const bool scoring = first.prompt_log_probabilities && answer_.empty() &&
                       (scored_.size() + 1 < first.prompt.size() || first.max_tokens == 0);
  if (first.max_tokens > 0 || scoring) {
    GenerationOutput output = scoring ? score_prompt() : next_token();
    if (output.tokens.empty() && !output.finished) return {};
    return {std::move(output)};
  }
  GenerationOutput none{.id = first.id};
  finish(none, FinishReason::length);
  return {std::move(none)};
}

EngineState SequentialEngine::state() const {
  EngineState state = state_;
  state.running = open_.empty() ? 0 : 1;
  state.waiting = std::ssize(open_) - state.running;
  return state;
}

}  // namespace triax
