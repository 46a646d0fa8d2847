// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/reply_format.hpp"
#include "src/serve/answer/token_spelling.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

bool is_likeliest(const AnswerToken& token) {
  return token.alternatives.empty() || token.alternatives.front().second <= *token.log_probability;
}

class ScoreFormat : public ReplyFormat {
 public:
  ScoreFormat(std::vector<std::size_t> answered, bool chat)
      : answered_(std::move(answered)), chat_(chat) {}
  const char* route() const override { return chat_ ? "/v1/chat/completions" : "/v1/completions"; }
  const char* id_prefix() const override { return "score-"; }
  const char* object(bool) const override { return "score"; }
  ordered_json opening(std::int64_t) const override { return nullptr; }
  ordered_json choice(std::int64_t index, const AnswerDelta& delta, bool) const override {
    ordered_json tokens = ordered_json::array(), each = ordered_json::array();
    double sum = 0;
    bool greedy = true;
    std::string text;
    for (std::size_t i = answered_[static_cast<std::size_t>(index)]; i < delta.tokens.size(); ++i) {
      const AnswerToken& token = delta.tokens[i];
      text += token.bytes;
      tokens.push_back(readable(token.bytes));
      each.push_back(finite(*token.log_probability));
      sum += finite(*token.log_probability);
      greedy = greedy && is_likeliest(token);
    }
    return {{"index", index},
            {"text", readable(text)},
            {"logprob", sum},
            {"greedy", greedy},
            {"logprobs", {{"tokens", std::move(tokens)}, {"token_logprobs", std::move(each)}}},
            {"finish_reason", "stop"}};
  }

 private:
  std::vector<std::size_t> answered_;  // per choice
  bool chat_;
};

}  // namespace

std::unique_ptr<const ReplyFormat> score_format(std::vector<std::size_t> answered, bool chat) {
  return std::make_unique<ScoreFormat>(std::move(answered), chat);
}

}  // namespace triax
