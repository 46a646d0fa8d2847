// SPDX-License-Identifier: Apache-2.0
#include "src/text/files/tiktoken.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/text/model/byte_ranks.hpp"
#include "tests/support/error_of.hpp"

namespace triax {
namespace {

TEST(Tiktoken, IsToldByItsFirstLine) {
  EXPECT_TRUE(is_tiktoken("IQ== 0\nIg== 1\n"));
  EXPECT_FALSE(is_tiktoken("{\"a\": 0}"));
  EXPECT_FALSE(is_tiktoken("IQ== 0 1\n"));
  EXPECT_FALSE(is_tiktoken("\n\x0e\n\x05<unk> 1"));
  EXPECT_FALSE(is_tiktoken(""));
}

// Published files are compared by tests/golden/judge_tokenizers.py.
TEST(Tiktoken, RefusesFilesWhosePatternIsNotKnown) {
  EXPECT_THAT(test::error_of([] { parse_tiktoken("IQ== 0\n", "x.tiktoken"); }),
              testing::HasSubstr("x.tiktoken is a rank file of tiktoken that is not known"));
}

TEST(ByteRanks, MergeByTheRankOfTheUnion) {
  const auto model = make_rank_bpe({{{"a", 0}, {"b", 1}, {"bb", 2}, {"ab", 3}, {"abb", 4}}, 10});
  const auto session = model->session();
  std::vector<std::int32_t> ids;
  const auto encode = [&](std::string_view text) {
    const Cut whole{text.size(), true};
    ids.clear();
    session->encode(text, 0, {&whole, 1}, ids);
    return ids;
  };
  EXPECT_EQ(encode("abb"), std::vector{14}) << "a token is itself";
  EXPECT_EQ(encode("aabb"), (std::vector<std::int32_t>{10, 14})) << "bb, then a + bb";
  EXPECT_EQ(encode("bab"), (std::vector<std::int32_t>{11, 13}));
}

TEST(ByteRanks, Base64) {
  EXPECT_EQ(from_base64("aGk="), "hi");
  EXPECT_EQ(from_base64("//8="), "\xFF\xFF");
  EXPECT_EQ(from_base64("a b"), std::nullopt);
}

}  // namespace
}  // namespace triax
