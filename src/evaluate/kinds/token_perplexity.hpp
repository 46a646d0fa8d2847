// SPDX-License-Identifier: Apache-2.0
#pragma once
// Perplexity of a token file: windows over all of its tokens, whatever the documents.
#include <memory>
#include <string>

#include "io/tokens/token_reader.hpp"
#include "src/evaluate/kinds/perplexity.hpp"
#include "src/evaluate/kinds/rolling_windows.hpp"
#include "src/text/tokenizer.hpp"

namespace triax {

class TokenPerplexity : public Task {
 public:
  /// `tokenizer` counts bytes; null: they are not known. `limit`: most windows; 0: all. UsageError
  /// where the file has fewer than two tokens.
  TokenPerplexity(std::string name, std::unique_ptr<TokenFile> file,
                  std::shared_ptr<const Tokenizer> tokenizer, const WindowShape& shape,
                  std::int64_t limit);

  const char* kind() const override { return "perplexity"; }
  const std::string& name() const override { return name_; }
  bool next(Item& item) override;
  double passed() const override {
    return static_cast<double>(number_) / static_cast<double>(windows_);
  }
  nlohmann::ordered_json score(const Item& item, const Answer& answer) const override;
  void add(const nlohmann::ordered_json& score) override { sums_.add(score); }
  nlohmann::ordered_json results() const override;

 private:
  std::string name_;
  std::unique_ptr<TokenFile> file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  WindowShape shape_;
  std::int64_t windows_;
  std::int64_t number_ = 0;  // of the next window
  Perplexity sums_;
};

}  // namespace triax
