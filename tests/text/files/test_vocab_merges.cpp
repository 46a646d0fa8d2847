// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/vocab_merges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.hpp"

namespace triax {
namespace {

using test::error_of;
using testing::HasSubstr;

class VocabMerges : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write("vocab.json", R"({"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<|endoftext|>": 4})");
    write("merges.txt", "#version: 0.2\na b\r\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string folder_ = testing::TempDir() + "/vocab-merges";
};

TEST_F(VocabMerges, TheClassDecidesThePattern) {
  EXPECT_THAT(error_of([&] { open_tokenizer(folder_); }), HasSubstr("tokenizer_class"));
  write("tokenizer_config.json", R"({"tokenizer_class": "OddTokenizer"})");
  EXPECT_THAT(error_of([&] { open_tokenizer(folder_); }), HasSubstr("OddTokenizer is not known"));
  write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder":
    {"4": {"content": "<|endoftext|>", "special": true, "normalized": false}}})");
  const auto tokenizer = open_tokenizer(folder_);
  std::vector<std::int32_t> ids;
  tokenizer->encoder()->encode("ab b<|endoftext|>", {.special_tokens_in_text = true}, ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{2, 3, 1, 4}));
  EXPECT_EQ(tokenizer->decode(ids, true), "ab b");
  EXPECT_EQ(tokenizer->end_token(), 4);
}

TEST_F(VocabMerges, NamesOfGpt2AreOfGpt2) {
  std::filesystem::rename(folder_ + "/vocab.json", folder_ + "/encoder.json");
  std::filesystem::rename(folder_ + "/merges.txt", folder_ + "/vocab.bpe");
  EXPECT_EQ(open_tokenizer(folder_)->vocabulary(), 5);
}

}  // namespace
}  // namespace triax
