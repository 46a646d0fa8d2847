// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/reply_format.hpp"
#include "src/serve/answer/token_spelling.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;

ordered_json bytes_of(const std::string& text) {
  ordered_json bytes = ordered_json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

ordered_json token_of(const std::string& bytes, float log_probability) {
  return {
      {"token", readable(bytes)}, {"logprob", finite(log_probability)}, {"bytes", bytes_of(bytes)}};
}

ordered_json log_probabilities_of(const AnswerDelta& delta) {
  ordered_json content = ordered_json::array();
  for (const AnswerToken& token : delta.tokens) {
    ordered_json one = token_of(token.bytes, token.log_probability.value_or(0.0F));
    one["top_logprobs"] = ordered_json::array();
    for (const auto& [bytes, log_probability] : token.alternatives)
      one["top_logprobs"].push_back(token_of(bytes, log_probability));
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

// `stream`: with the number of each call, for clients that put events together.
ordered_json calls_of(const AnswerDelta& delta, bool stream) {
  ordered_json calls = ordered_json::array();
  for (const ToolCall& call : delta.calls) {
    ordered_json one = ordered_json::object();
    if (stream) one["index"] = call.index;
    one["id"] = call.id;
    one["type"] = "function";
    one["function"] = {{"name", call.name}, {"arguments", call.arguments}};
    calls.push_back(std::move(one));
  }
  return calls;
}

ordered_json message_of(const AnswerDelta& delta) {
  const bool silent = delta.text.empty() && !delta.calls.empty();
  ordered_json message = {{"role", "assistant"},
                          {"content", silent ? ordered_json() : ordered_json(delta.text)},
                          {"refusal", nullptr}};
  if (!delta.calls.empty()) message["tool_calls"] = calls_of(delta, false);
  return message;
}

ordered_json part_of(const AnswerDelta& delta) {
  ordered_json part = ordered_json::object();
  if (!delta.text.empty()) part["content"] = delta.text;
  if (!delta.calls.empty()) part["tool_calls"] = calls_of(delta, true);
  return part;
}

class ChatFormat : public ReplyFormat {
 public:
  explicit ChatFormat(bool log_probabilities) : log_probabilities_(log_probabilities) {}
  const char* route() const override { return "/v1/chat/completions"; }
  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object(bool stream) const override {
    return stream ? "chat.completion.chunk" : "chat.completion";
  }
  ordered_json opening(std::int64_t index) const override {
    return {{"index", index},
            {"delta", {{"role", "assistant"}, {"content", ""}}},
            {"logprobs", nullptr},
            {"finish_reason", nullptr}};
  }
  ordered_json choice(std::int64_t index, const AnswerDelta& delta, bool stream) const override {
    ordered_json choice = {{"index", index}};
    choice[stream ? "delta" : "message"] = stream ? part_of(delta) : message_of(delta);
    choice["logprobs"] = log_probabilities_ ? log_probabilities_of(delta) : ordered_json();
    choice["finish_reason"] = finish_reason(delta);
    return choice;
  }

 private:
  bool log_probabilities_;
};

}  // namespace

std::unique_ptr<const ReplyFormat> chat_format(bool log_probabilities) {
  return std::make_unique<ChatFormat>(log_probabilities);
}

}  // namespace triax
