// SPDX-License-Identifier: Apache-2.0
#pragma once
// An engine without a model. Its tokens are bytes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/check.hpp"
#include "src/inference/engine/engine.hpp"
#include "src/serve/api/generation_options.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax::test {

inline std::vector<std::int32_t> bytes_of(const std::string& text) {
  std::vector<std::int32_t> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// Answers with the prompt over and over; each token has the log-probability -1, and -2 for the
/// next one in the alphabet. A prompt that begins with '!' fails.
class FakeEngine : public Engine {
 public:
  static constexpr std::int64_t most = 64;  // tokens of prompt and answer
  std::chrono::milliseconds pause{0};       // per step
  std::atomic<bool> broken = false;
  std::atomic<int> cancelled = 0;

  std::int64_t context() const override { return most; }
  std::int64_t vocabulary() const override { return 256; }
  void submit(GenerationRequest request) override {
    if (std::ssize(request.prompt) > most) throw UsageError("too long");
    open_.push_back({std::move(request), {}});
  }
  void cancel(std::uint64_t id) override {
    const auto before = open_.size();
    std::erase_if(open_, [&](const Open& one) { return one.request.id == id; });
    cancelled += static_cast<int>(before - open_.size());
  }
  std::vector<GenerationOutput> step() override {
    if (broken) throw Error("the fake engine is broken");
    std::this_thread::sleep_for(pause);
    std::vector<GenerationOutput> outputs;
    if (!open_.empty()) ++state_.steps;
    for (Open& one : open_) outputs.push_back(next(one));
    std::erase_if(open_, [](const Open& one) { return one.done; });
    return outputs;
  }
  EngineState state() const override {
    EngineState state = state_;
    state.running = std::ssize(open_);
    return state;
  }

 private:
  struct Open {
    GenerationRequest request;
    std::vector<std::int32_t> answer;
    bool done = false;
  };
  static TokenLikelihood likelihood(const GenerationRequest& request, std::int32_t token) {
    TokenLikelihood found{.token = token, .log_probability = -1, .alternatives = {}};
    for (int i = 0; i < request.log_probabilities; ++i)
      found.alternatives.emplace_back((token + i) % 256, -1.0F - static_cast<float>(i));
    return found;
  }
  static GenerationOutput next(Open& one) {
    const GenerationRequest& request = one.request;
    GenerationOutput output{
        .id = request.id, .prompt = {}, .tokens = {}, .embedding = {}, .finished = {}, .error = {}};
    if (request.prompt.front() == '!') {
      output.error = "the prompt begins with !";
      output.finished = FinishReason::error;
    } else {
      if (request.prompt_log_probabilities && one.answer.empty())
        for (std::size_t i = 1; i < request.prompt.size(); ++i)
          output.prompt.push_back(likelihood(request, request.prompt[i]));
      if (request.max_tokens > 0) {
        const std::int32_t token = request.prompt[one.answer.size() % request.prompt.size()];
        one.answer.push_back(token);
        output.tokens.push_back(likelihood(request, token));
        if (std::ranges::find(request.end_tokens, token) != request.end_tokens.end())
          output.finished = FinishReason::stop;
      }
      if (request.pooling == Pooling::mean) output.embedding = {3, 4};
      if (request.pooling == Pooling::last) output.embedding = {0, 2};
      if (!output.finished && std::ssize(one.answer) >= request.max_tokens)
        output.finished = FinishReason::length;
    }
    one.done = output.finished.has_value();
    return output;
  }

  std::deque<Open> open_;
  EngineState state_;
};

/// A model of bytes with the end token 0.
inline ServedModel byte_model() {
  ServedModel model;
  model.names = {"bytes", "org/alias"};
  model.created = 1700000000;
  model.context = FakeEngine::most;
  model.vocabulary = 256;
  model.tokenizer = byte_tokenizer();
  model.end_tokens = {0};
  model.most_answers = 16;
  TokenizerFiles files;
  files.bytes["chat_template.jinja"] = "{% for m in messages %}{{ m.content }}{% endfor %}";
  model.templates = std::make_shared<const ChatTemplates>(files);
  return model;
}

}  // namespace triax::test
