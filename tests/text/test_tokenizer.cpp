// SPDX-License-Identifier: Apache-2.0
#include "src/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/allocation_count.hpp"

namespace triax {
namespace {

const std::string folder = std::string(TRIAX_SOURCE_DIR) + "/tests/golden/tokenizers/";

TEST(ByteTokenizer, TakesEachByteForAToken) {
  const auto bytes = byte_tokenizer();
  std::vector<std::int32_t> ids;
  bytes->encoder()->encode("a\xFF", {}, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{97, 255}));
  EXPECT_EQ(bytes->decode(ids, false), "a\xFF");
  EXPECT_EQ(bytes->vocabulary(), 256);
  EXPECT_FALSE(bytes->end_token());
}

// A piece that has no end costs n log n, not n²: a limit behind which a hang is certain.
TEST(Tokenizer, EncodesOneLongPiece) {
  for (const char* name : {"gpt2", "llama2", "sentencepiece-bpe", "unigram"}) {
    const auto tokenizer = open_tokenizer(folder + name);
    for (const std::string& text : {std::string(1 << 20, 'a'), std::string(1 << 20, ' ')}) {
      const auto start = std::chrono::steady_clock::now();
      std::vector<std::int32_t> ids;
      tokenizer->encoder()->encode(text, {}, ids);
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << name;
    }
  }
}

TEST(Tokenizer, AllocatesNothingForWordsThatItKnows) {
  for (const char* name : {"gpt2", "llama3"}) {
    const auto tokenizer = open_tokenizer(folder + name);
    const auto encoder = tokenizer->encoder();
    std::string text;
    for (int i = 0; i < 20000; ++i) text += " word" + std::to_string(i % 50) + "\n  the";
    std::vector<std::int32_t> ids;
    encoder->encode(text, {}, ids);
    const std::vector<std::int32_t> first = ids;
    ids.clear();
    const long before = allocation_count();
    encoder->encode(text, {}, ids);
    EXPECT_EQ(allocation_count(), before) << name;
    EXPECT_EQ(ids, first);
    EXPECT_EQ(tokenizer->decode(ids, false), text);
  }
}

}  // namespace
}  // namespace triax
