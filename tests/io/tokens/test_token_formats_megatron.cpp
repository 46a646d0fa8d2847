// SPDX-License-Identifier: Apache-2.0
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(MegatronTokens, AreOpenedByEitherFileOrThePrefix) {
  const TempDirectory dir;
  dir.file("set.bin", bytes_of<std::uint16_t>({1, 2, 3, 65535}));
  dir.file("set.idx", megatron_index(8, {3, 1}, {0, 6}, {0, 1, 2}));
  for (const char* name : {"set.bin", "set.idx", "set"}) {
    const auto file = open_tokens(dir.path(name));
    EXPECT_EQ(file->format(), "megatron") << name;
    EXPECT_THAT(all_tokens(*file), ElementsAre(1, 2, 3, 65535)) << name;
  }
}

template <class T>
void expect_type(std::uint8_t code, const std::vector<T>& tokens,
                 const std::vector<std::int32_t>& expected) {
  const TempDirectory dir;
  dir.file("t.bin", bytes_of(tokens));
  dir.file("t.idx", megatron_index(code, {static_cast<std::int32_t>(tokens.size())}, {0}, {0, 1}));
  EXPECT_EQ(all_tokens(*open_tokens(dir.path("t.bin"))), expected) << int{code};
}

TEST(MegatronTokens, OfEveryIntegerType) {
  expect_type<std::uint8_t>(1, {0, 255}, {0, 255});
  expect_type<std::int8_t>(2, {1, 127}, {1, 127});
  expect_type<std::int16_t>(3, {1, 32767}, {1, 32767});
  expect_type<std::int32_t>(4, {1, 1 << 30}, {1, 1 << 30});
  // Values outside int32 saturate instead of wrapping to a valid id.
  expect_type<std::int64_t>(5, {9, (std::int64_t{1} << 32) + 5, -(std::int64_t{1} << 40)},
                            {9, 2147483647, -2147483647 - 1});
  expect_type<std::uint16_t>(8, {1, 65535}, {1, 65535});
}

TEST(MegatronTokens, FollowTheIndexWhereTheyAreScattered) {
  const TempDirectory dir;
  std::vector<std::int32_t> stored(1000);
  std::iota(stored.begin(), stored.end(), 0);
  dir.file("s.bin", bytes_of(stored));
  // Sequences of 0 to 3 tokens, stored from the back of the file to its front. They span several
  // groups of 128 sequences.
  std::vector<std::int32_t> lengths, expected;
  std::vector<std::int64_t> offsets;
  for (int i = 0; i < 300; ++i) {
    const int length = i % 4;
    const int from = 996 - 3 * i;
    lengths.push_back(length);
    offsets.push_back(from * 4);
    for (int k = 0; k < length; ++k) expected.push_back(from + k);
  }
  dir.file("s.idx", megatron_index(4, lengths, offsets, {0, 300}));
  const auto file = open_tokens(dir.path("s"));
  EXPECT_EQ(all_tokens(*file), expected);
  for (std::size_t begin = 0; begin + 9 <= expected.size(); begin += 7) {
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(begin);
    ASSERT_EQ(tokens_at(*file, static_cast<std::int64_t>(begin), 9),
              std::vector<std::int32_t>(from, from + 9));
  }
}

TEST(MegatronTokens, OfAMultimodalIndexAreAccepted) {
  const TempDirectory dir;
  dir.file("m.bin", bytes_of<std::int32_t>({4, 5}));
  dir.file("m.idx", megatron_index(4, {2}, {0}, {0, 1}) + std::string(1, '\0'));
  EXPECT_THAT(all_tokens(*open_tokens(dir.path("m"))), ElementsAre(4, 5));
}

TEST(MegatronTokens, DamageIsReportedWithNumbers) {
  const TempDirectory dir;
  const auto error = [&](const std::string& tokens, const std::string& index) {
    dir.file("d.bin", tokens);
    dir.file("d.idx", index);
    return error_of([&] { open_tokens(dir.path("d.bin")); });
  };
  const std::string good = megatron_index(4, {2, 3}, {0, 8}, {0, 2});
  EXPECT_EQ(error(bytes_of<std::int32_t>({1, 2, 3, 4, 5}), good), "");
  EXPECT_THAT(error(bytes_of<std::int32_t>({1, 2, 3, 4}), good),
              AllOf(HasSubstr("sequence 1"), HasSubstr("3 tokens"), HasSubstr("16 bytes")));
  EXPECT_THAT(error("", good), HasSubstr("0 bytes"));
  EXPECT_THAT(error("x", good.substr(0, good.size() - 1)),
              AllOf(HasSubstr("damaged"), HasSubstr("2 sequences")));
  EXPECT_THAT(error("x", good.substr(0, 20)), HasSubstr("truncated"));
  EXPECT_THAT(error("x", megatron_index(7, {}, {}, {})),
              AllOf(HasSubstr("code is 7"), HasSubstr("floating")));
  EXPECT_THAT(error("x", megatron_index(9, {}, {}, {})), HasSubstr("code is 9"));
  EXPECT_THAT(error("x", megatron_index(1, {}, {}, {})), HasSubstr("no tokens"));
  EXPECT_THAT(error("x", megatron_index(1, {-1}, {0}, {})), HasSubstr("sequence 0 is -1"));
  EXPECT_THAT(error("x", megatron_index(1, {1}, {-1}, {})), HasSubstr("byte -1"));
  std::string version = good;
  version[9] = 2;
  EXPECT_THAT(error("x", version), HasSubstr("version 2"));
  std::string count = good;  // a count whose product overflows
  count[25] = '\x7f';
  EXPECT_THAT(error("x", count), HasSubstr("damaged"));
}

TEST(MegatronTokens, WithoutTheirBinAreRefused) {
  const TempDirectory dir;
  dir.file("only.idx", megatron_index(4, {1}, {0}, {0, 1}));
  for (const char* name : {"only.idx", "only.bin", "only"})
    EXPECT_THAT(error_of([&] { open_tokens(dir.path(name)); }),
                AllOf(HasSubstr("there is no"), HasSubstr("only.bin beside"), HasSubstr("a pair")));
}

TEST(MegatronTokens, AnIndexThatIsNoneIsNamed) {
  const TempDirectory dir;
  for (const char* index : {"", "text"}) {
    dir.file("e.idx", index);
    dir.file("e.bin", bytes_of<std::int32_t>({1, 2, 3}));
    for (const char* name : {"e.idx", "e.bin", "e"})
      EXPECT_THAT(error_of([&] { open_tokens(dir.path(name)); }),
                  AllOf(HasSubstr("e.idx is not a Megatron index"), HasSubstr("MMIDIDX")))
          << name;
  }
  std::filesystem::remove(dir.path("e.bin"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("e")); }), HasSubstr("e.bin"));
}

// Files of other formats may have an unrelated .idx beside them.
TEST(MegatronTokens, AnIndexOfSomethingElseDoesNotMakeAPair) {
  const TempDirectory dir;
  dir.file("o.idx", "of another program");
  dir.file("o.txt", "text");
  EXPECT_EQ(open_tokens(dir.path("o.txt"))->format(), "text");
}

}  // namespace
}  // namespace triax
