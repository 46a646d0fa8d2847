// SPDX-License-Identifier: Apache-2.0
#include "src/text/token_spans.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/text/open_tokenizer.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

const std::string golden = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

std::optional<std::vector<TokenSpan>> spans_of(const Tokenizer& tokenizer,
                                               const std::string& text) {
  std::vector<std::int32_t> ids;
  tokenizer.encoder()->encode(text, {.special_tokens_in_text = true, .add_special_tokens = false},
                              ids);
  return token_spans(tokenizer, text, ids);
}

// Tokens of every tokenizer that leaves texts as they are cover them without a gap.
TEST(TokenSpans, CoverTheText) {
  for (const char* name : {"gpt2", "llama3", "qwen2", "llama2", "metaspace", "gemma", "deepseek"})
    for (const std::string text :
         {"Hello  world", " a b", "a\nb  \n c", "naïve 中文 👩‍👩‍👧 €",
          "x<s>y <|end|>  z[INST] 123  ", "\t", ""}) {
      const auto spans = spans_of(*open_tokenizer(golden + name), text);
      ASSERT_TRUE(spans.has_value()) << name << ": " << text;
      std::size_t at = 0;
      for (const TokenSpan& span : *spans) {
        EXPECT_EQ(span.begin, at) << name << ": " << text;
        EXPECT_LE(span.begin, span.end);
        at = span.end;
      }
      EXPECT_EQ(at, text.size()) << name << ": " << text;
    }
}

TEST(TokenSpans, AreBytesOfTheText) {
  const auto spans = spans_of(*byte_tokenizer(), "é!");
  ASSERT_EQ(spans->size(), 3U);
  EXPECT_EQ((*spans)[2].begin, 2U);
}

TEST(TokenSpans, OfAChangedTextAreUnknown) {
  // qwen2 composes characters.
  EXPECT_FALSE(spans_of(*open_tokenizer(golden + "qwen2"), "e\u0301e\u0301").has_value());
}

}  // namespace
}  // namespace triax::test
