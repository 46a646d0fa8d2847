// SPDX-License-Identifier: Apache-2.0
#include "src/text/text_stream.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

const std::string tokenizer_folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

TEST(TextStream, JoinedTextsAreTheDecodedText) {
  for (const char* name : {"gpt2", "llama2", "sentencepiece-bpe", "unigram"}) {
    const auto tokenizer = open_tokenizer(tokenizer_folder + name);
    std::vector<std::int32_t> ids;
    tokenizer->encoder()->encode("Hello  world, 中文 👩\u200d👧 end", {}, ids);
    TextStream stream(tokenizer);
    std::string text;
    for (const std::int32_t id : ids) text += stream.next(id);
    EXPECT_EQ(text + stream.rest(), tokenizer->decode(ids, false)) << name;
  }
}

// Llama-2's bytes come one by one.
TEST(TextStream, HoldsBackACharacterThatIsNotWhole) {
  const auto tokenizer = open_tokenizer(tokenizer_folder + "llama2");
  TextStream stream(tokenizer);
  EXPECT_EQ(stream.next(tokenizer->id_of("<0xC3>").value()), "");
  EXPECT_EQ(stream.next(tokenizer->id_of("<0xA9>").value()), "é");
  EXPECT_EQ(stream.next(tokenizer->id_of("<0xC3>").value()), "");
  EXPECT_EQ(stream.rest(), "\uFFFD");
}

}  // namespace
}  // namespace triax
