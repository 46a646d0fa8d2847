// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of conversations to ids and labels: the one way that preparation, training and
// `triax data show` share.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "src/config/conversation.hpp"
#include "src/data/chat/conversation_line.hpp"
#include "src/text/open_tokenizer.hpp"
#include "src/text/template/chat_template.hpp"

namespace triax {

/// Ids of a sample, and their labels: the id itself where the sample trains, else ignored_label.
/// The first label is ignored: nothing in the sample comes before it.
struct ChatSample {
  std::vector<std::int32_t> ids, labels;
};

/// Sums over samples. Those of preference data are pairs of rows, which the other numbers count.
struct ChatCounts {
  std::int64_t samples = 0;         // that are kept
  std::int64_t tokens = 0;          // of these
  std::int64_t trained = 0;         // of these tokens
  std::int64_t without_answer = 0;  // samples dropped: nothing in them trains
  std::int64_t cut = 0;             // samples longer than a row
  std::int64_t cut_answers = 0;     // answers that end behind the row, in kept and dropped samples
  std::int64_t seams = 0;           // encoded in parts: the tokenizer changes the text
  std::int64_t open_ends = 0;       // answers without an end of turn that trains
  std::int64_t double_begins = 0;   // samples that begin with two begin tokens

  ChatCounts& operator+=(const ChatCounts& other);
};

/// Things that all encoders of a run share.
struct ChatContext {
  OpenedTokenizer tokenizer;
  std::optional<ChatTemplates> templates;  // of messages
  ConversationConfig config;
  jinja::Clock clock;
  int most_tokens = 0;  // of a row
  bool pairs() const { return config.format == "preference"; }

  /// SHA-256 of all that decides ids and labels.
  std::string fingerprint() const;
};

/// The tokenizer and template that `config` names, with `files` of the run's tokenizer. UsageError
/// where there is no template, it writes a date that is not set, or an answer has no end token.
ChatContext chat_context(const TokenizerFiles& files, const ConversationConfig& config,
                         int most_tokens);

/// Encoder of one thread.
class SampleEncoder {
 public:
  /// `context` outlives the encoder.
  explicit SampleEncoder(const ChatContext& context);
  /// The sample of a line: a row, or the rows of the chosen and of the rejected answer. None where
  /// a row has no token that trains. UsageError for a line that is no conversation, or that the
  /// template refuses.
  std::vector<ChatSample> encode(const nlohmann::ordered_json& line);
  const ChatCounts& counts() const { return counts_; }

 private:
  std::vector<ChatSample> encode_rows(const nlohmann::ordered_json& line);
  std::vector<ChatSample> encode_pair(const nlohmann::ordered_json& line);
  ChatSample encode_chat(const Conversation& conversation, std::size_t prompt);
  ChatSample encode_prompted(const PromptedText& text);
  std::vector<jinja::TextSpan> trained_spans(const Conversation& conversation,
                                             const jinja::Rendered& rendered, bool marked,
                                             std::size_t prompt) const;
  void encode_spans(const std::string& text, const std::vector<jinja::TextSpan>& spans,
                    ChatSample& sample);
  void encode_parts(const std::string& text, const std::vector<jinja::TextSpan>& spans,
                    ChatSample& sample);
  void complete_turns(const std::vector<jinja::TextSpan>& spans, ChatSample& sample);
  void append(std::string_view text, bool special, bool trains, ChatSample& sample);
  void cut(ChatSample& sample);
  void check_ends(const ChatSample& sample);
  bool is_blank(std::int32_t id) const;

  const ChatContext& context_;
  const Tokenizer& tokenizer_;
  std::unique_ptr<Tokenizer::Encoder> encoder_;
  std::optional<std::int32_t> begin_;
  ChatCounts counts_;
};

}  // namespace triax
