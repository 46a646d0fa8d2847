// SPDX-License-Identifier: Apache-2.0
#include "src/data/files/decode.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// The whole file as one document.
class OneDocument : public DocumentWalk {
 public:
  explicit OneDocument(std::int64_t tokens) : tokens_(tokens) {}
  std::optional<std::int64_t> next() override { return std::exchange(tokens_, std::nullopt); }

 private:
  std::optional<std::int64_t> tokens_;
};

}  // namespace

void decode_documents(const TokenSet& set, const Tokenizer& tokenizer, const DecodeRange& range,
                      const std::function<void(std::int64_t, const std::string&, bool)>& document) {
  require_same_tokenizer(set, tokenizer);
  auto walk = set.documents();
  if (!walk) walk = std::make_unique<OneDocument>(set.size());
  const std::int64_t end_token =
      set.facts() ? set.facts()->end_token : tokenizer.end_token().value_or(-1);
  std::int64_t begin = 0, number = 0;
  std::vector<std::int32_t> tokens;
  for (; number < range.first + range.documents; ++number) {
    const auto length = walk->next();
    if (!length) break;
    if (number >= range.first) {
      const std::int64_t most = range.most_tokens < 0 ? *length : range.most_tokens;
      tokens.resize(static_cast<std::size_t>(std::min(*length, most)));
      set.read(begin, tokens);
      if (!tokens.empty() && tokens.back() == end_token) tokens.pop_back();
      document(number, tokenizer.decode(tokens, false), *length <= most);
    }
    begin += *length;
  }
  set.check_length();
  if (number <= range.first)
    throw UsageError(fmt::format("{} has no document {}", set.path(), range.first),
                     fmt::format("it has {}, counted from 0", number), "Set --document to less");
}

}  // namespace triax
