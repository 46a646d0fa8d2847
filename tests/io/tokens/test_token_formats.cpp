// SPDX-License-Identifier: Apache-2.0
#include "io/tokens/token_formats.hpp"

#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TextTokens, AreBytes) {
  const TempDirectory dir;
  const auto file = open_tokens(dir.file("a.txt", "ab\xff\n"));
  EXPECT_EQ(file->format(), "text");
  EXPECT_THAT(all_tokens(*file), ElementsAre('a', 'b', 255, '\n'));
  EXPECT_THAT(tokens_at(*file, 1, 2), ElementsAre('b', 255));
  EXPECT_THROW(tokens_at(*file, 3, 2), Error);
  EXPECT_THROW(tokens_at(*file, -1, 2), Error);
}

TEST(TextTokens, AreToldByContentNotName) {
  const TempDirectory dir;
  EXPECT_EQ(open_tokens(dir.file("text.bin", "plain words"))->format(), "text");
  EXPECT_EQ(open_tokens(dir.file("shard.txt", llmc_shard({1, 2, 3})))->format(), "llmc");
  EXPECT_EQ(open_tokens(dir.file("code.c", "{ int x; }\n"))->format(), "text");
}

TEST(LlmcTokens, AreReadInPlace) {
  const TempDirectory dir;
  const auto file = open_tokens(dir.file("a.bin", llmc_shard({7, 65535, 50256})));
  EXPECT_EQ(file->format(), "llmc");
  EXPECT_THAT(all_tokens(*file), ElementsAre(7, 65535, 50256));
  EXPECT_THAT(tokens_at(*file, 2, 1), ElementsAre(50256));
}

TEST(LlmcTokens, OfLlama3AreFourBytes) {
  const TempDirectory dir;
  const std::string bytes =
      llmc_header(20240801, 7, 3) + bytes_of<std::uint32_t>({1, 128000, 4000000000u});
  EXPECT_THAT(all_tokens(*open_tokens(dir.file("a.bin", bytes))),
              ElementsAre(1, 128000, 2147483647));
}

TEST(LlmcTokens, DamageIsReportedWithNumbers) {
  const TempDirectory dir;
  const std::string shard = llmc_shard({1, 2, 3, 4});
  const auto error = [&](std::string_view bytes) {
    return error_of([&] { open_tokens(dir.file("a.bin", bytes)); });
  };
  EXPECT_THAT(error(shard.substr(0, 1030)),
              AllOf(HasSubstr("4 tokens"), HasSubstr("1032"), HasSubstr("1030")));
  EXPECT_THAT(error(shard + "x"), AllOf(HasSubstr("1032"), HasSubstr("1033")));
  EXPECT_THAT(error(shard.substr(0, 100)), AllOf(HasSubstr("truncated"), HasSubstr("100 bytes")));
  EXPECT_THAT(error(llmc_header(20240520, 2, 0)), HasSubstr("version 2"));
  EXPECT_THAT(error(llmc_header(20240520, 1, 0)), HasSubstr("0 tokens"));
  EXPECT_THAT(error(llmc_header(20240520, 1, -5)), HasSubstr("-5 tokens"));
}

TEST(OpenTokens, RefusesWhatIsNotTokens) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { open_tokens(dir.path("none.txt")); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.file("empty.txt", "")); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([&] { open_tokens(dir.path()); }), HasSubstr("directory"));
  // A Megatron .bin whose .idx was left behind.
  const std::string bin = dir.file("lone.bin", bytes_of<std::uint16_t>({300, 5, 6}));
  EXPECT_THAT(error_of([&] { open_tokens(bin); }), AllOf(HasSubstr("lone.bin"), HasSubstr(".idx")));
}

}  // namespace
}  // namespace triax
