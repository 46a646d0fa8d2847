// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/reply_format.hpp"
#include "src/serve/answer/token_spelling.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

ordered_json top_of(const AnswerToken& token) {
  if (!token.log_probability) return nullptr;
  ordered_json top = ordered_json::object();
  for (const auto& [bytes, log_probability] : token.alternatives) {
    std::string text = readable(bytes);
    // Two tokens may have one text: the more likely one comes first.
    if (!top.contains(text)) top[text] = finite(log_probability);
  }
  const std::string own = readable(token.bytes);
  if (!top.contains(own)) top[own] = finite(*token.log_probability);
  return top;
}

ordered_json log_probabilities_of(const AnswerDelta& delta) {
  ordered_json found = {{"tokens", ordered_json::array()},
                        {"token_logprobs", ordered_json::array()},
                        {"top_logprobs", ordered_json::array()},
                        {"text_offset", ordered_json::array()}};
  for (const AnswerToken& token : delta.tokens) {
    found["tokens"].push_back(readable(token.bytes));
    found["token_logprobs"].push_back(
        token.log_probability ? ordered_json(finite(*token.log_probability)) : ordered_json());
    found["top_logprobs"].push_back(top_of(token));
    found["text_offset"].push_back(token.offset);
  }
  return found;
}

class CompletionFormat : public ReplyFormat {
 public:
  explicit CompletionFormat(bool log_probabilities) : log_probabilities_(log_probabilities) {}
  const char* route() const override { return "/v1/completions"; }
  const char* id_prefix() const override { return "cmpl-"; }
  const char* object(bool) const override { return "text_completion"; }
  ordered_json opening(std::int64_t) const override { return nullptr; }
  ordered_json choice(std::int64_t index, const AnswerDelta& delta, bool) const override {
    return {{"index", index},
            {"text", delta.text},
            {"logprobs", log_probabilities_ ? log_probabilities_of(delta) : ordered_json()},
            {"finish_reason", finish_reason(delta)},
            {"stop_reason", delta.stop.empty() ? ordered_json() : ordered_json(delta.stop)}};
  }

 private:
  bool log_probabilities_;
};

}  // namespace

std::unique_ptr<const ReplyFormat> completion_format(bool log_probabilities) {
  return std::make_unique<CompletionFormat>(log_probabilities);
}

}  // namespace triax
