// SPDX-License-Identifier: Apache-2.0
#include "src/serve/answer/token_spelling.hpp"

#include <gtest/gtest.h>

#include "src/text/open_tokenizer.hpp"

namespace triax::test {
namespace {

const std::string folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

// Byte tokens of Llama-2 and its spaces, which alone would be lost.
TEST(TokenBytes, JoinedAreTheText) {
  for (const char* name : {"gpt2", "llama2", "sentencepiece-bpe"}) {
    const auto tokenizer = open_tokenizer(folder + name);
    const std::string text = "Hello  world \u010d\U0001F600 end";
    std::vector<std::int32_t> ids;
    tokenizer->encoder()->encode("x " + text, {}, ids);
    std::string joined;
    for (std::size_t i = 1; i < ids.size(); ++i)
      joined += token_bytes(*tokenizer, ids[i - 1], ids[i]);
    EXPECT_TRUE(joined.ends_with(text)) << name << ": " << joined;
  }
}

TEST(TokenBytes, UnknownIdsHaveNone) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(token_bytes(*tokenizer, {}, 256), "");
  EXPECT_EQ(token_bytes(*tokenizer, 300, 65), "A");
  EXPECT_EQ(token_bytes(*tokenizer, {}, 0xff), "\xff");
}

TEST(Readable, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(readable("a\xff\xc4"), "a\uFFFD\uFFFD");
  EXPECT_EQ(readable("\u010d"), "\u010d");
}

}  // namespace
}  // namespace triax::test
