// SPDX-License-Identifier: Apache-2.0
#pragma once
// The text of one answer, out of the tokens that the engine gives.
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/inference/engine/engine.hpp"
#include "src/serve/answer/tool_call_text.hpp"
#include "src/serve/api/generation_options.hpp"
#include "src/text/stop_text.hpp"
#include "src/text/text_stream.hpp"
#include "src/text/unicode/utf8_stream.hpp"

namespace triax {

/// A token with its log-probability, as replies spell it.
struct AnswerToken {
  std::string bytes;
  std::optional<float> log_probability;                     // nothing: first token of a prompt
  std::vector<std::pair<std::string, float>> alternatives;  // bytes; most likely first
  std::size_t offset = 0;                                   // in the text, in code points
};

/// An addition to an answer.
struct AnswerDelta {
  std::string text;                 // whole characters of UTF-8
  std::vector<ToolCall> calls;      // of functions that the request offers
  std::vector<AnswerToken> tokens;  // if log-probabilities are wanted
  std::vector<float> embedding;     // if it is wanted instead of a text
  std::optional<FinishReason> finished;
  std::string stop;     // text that ended the answer; empty: none did
  bool called = false;  // with `finished`: the answer has calls

  bool empty() const { return text.empty() && calls.empty() && tokens.empty() && !finished; }
  /// Adds what comes after it.
  void append(AnswerDelta next);
};

class AnswerText {
 public:
  /// Decodes after `prompt`, which outlives the answer.
  AnswerText(const ServedModel& model, const GenerationOptions& options,
             std::span<const std::int32_t> prompt);

  /// The addition of an output of the engine. Text that may begin a stop text, bytes that are no
  /// whole character and tokens whose text waits come with a later call. Once finished, nothing is
  /// added: if a stop text has ended the answer, the engine goes on until it is told.
  AnswerDelta add(const GenerationOutput& output);
  bool finished() const { return finished_; }
  /// Tokens of the answer so far, with the one that ended it.
  std::int64_t tokens() const { return count_; }

 private:
  void add_prompt(const GenerationOutput& output, AnswerDelta& delta);
  void add_token(const TokenLikelihood& token, AnswerDelta& delta);
  void note_token(const TokenLikelihood& token, bool has_probability);
  std::string piece_of(std::int32_t id);
  void finish(FinishReason reason, AnswerDelta& delta);
  void release(bool all, AnswerDelta& delta);
  void take_calls(AnswerDelta& delta);

  const Tokenizer& tokenizer_;
  const GenerationOptions& options_;
  std::span<const std::int32_t> prompt_;
  TextStream stream_;
  Utf8Stream characters_;
  StopText stop_;
  std::optional<ToolCallText> calls_;   // if the request offers functions
  std::deque<AnswerToken> waiting_;     // tokens whose text is not out
  std::optional<std::int32_t> before_;  // the last token
  std::size_t decoded_ = 0, out_ = 0;   // code points: of all tokens; of the text that is out
  std::int64_t count_ = 0;
  bool begun_ = false, finished_ = false;
};

}  // namespace triax
