// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts in the making, and how they are printed.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/text/stop_text.hpp"
#include "src/text/text_stream.hpp"

namespace triax {

/// The text that continues one prompt.
class GeneratedText {
 public:
  /// `prompt` is `tokens` as text. Texts of `stops` and tokens of `ends` end it.
  GeneratedText(std::string prompt, const std::vector<std::int32_t>& tokens,
                std::shared_ptr<const Tokenizer> tokenizer, std::vector<std::string> stops,
                std::vector<std::int32_t> ends);

  /// Whether more tokens are wanted.
  bool add(std::int32_t token);
  void finish();
  bool finished() const { return finished_; }
  const std::string& prompt() const { return prompt_; }
  /// The text since the last call.
  std::string take_new();
  /// Prompt, text, tokens, and what ended it.
  nlohmann::ordered_json json() const;

 private:
  std::string prompt_;
  TextStream stream_;
  StopText stop_;
  std::vector<std::int32_t> ends_, tokens_;
  std::string text_, reason_ = "max_tokens";
  std::size_t taken_ = 0;  // bytes of text_
  bool finished_ = false;
};

/// Prints texts to standard output: the first one that is not finished as it comes, the others
/// after it, with an empty line between them. With `json` all at the end: an object, or a list of
/// objects for several prompts.
class TextPrinter {
 public:
  TextPrinter(std::vector<GeneratedText>& texts, bool json) : texts_(texts), json_(json) {}
  /// Prints what has come.
  void update();

 private:
  std::vector<GeneratedText>& texts_;
  bool json_;
  std::size_t front_ = 0;  // the first text that is not printed to its end
  bool begun_ = false;     // its prompt is out
};

}  // namespace triax
