// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/families.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "src/text/split/make_splitter.hpp"
#include "src/text/split/regex.hpp"
#include "tests/support/error_of.hpp"

namespace triax {
namespace {

std::vector<std::string> pieces(const Splitter& splitter, const std::string& text,
                                std::size_t limit) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::vector<Cut> cuts;
    at = splitter.split(text, at, limit, cuts);
    for (const Cut& cut : cuts) {
      all.push_back((cut.matched ? "" : "~") + text.substr(begin, cut.end - begin));
      begin = cut.end;
    }
  }
  return all;
}

// Characters of every class the patterns tell apart, of old versions of Unicode.
const std::vector<std::string> characters = {
    "a",  "B",      "s",      "S",      "t",  "l",      "L",      "e", "R", "'", " ", " ",
    "\t", "\n",     "\r",     "1",      "2",  "٣",      "Ⅷ",      "½", "é", "Ж", "ж", "ǅ",
    "ʰ",  "中",     "か",     "ー",     "々", "\u0301", "\u093e", ".", "/", "_", "$", "€",
    "“",  "\u00a0", "\u3000", "\u200b", "😀",  "\u0001", "ſ",      "ß", "𝒜"};

// The scanners against PCRE2 with the very pattern.
TEST(Families, ScannersSplitAsTheirPatterns) {
  std::mt19937 random(11);
  for (const std::string_view pattern :
       {gpt2_pattern, llama3_pattern, qwen2_pattern, qwen35_pattern, o200k_pattern}) {
    const auto scanner = family_scanner(pattern);
    ASSERT_TRUE(scanner);
    const auto regex = regex_splitter(std::string(pattern), "test");
    for (int round = 0; round < 4000; ++round) {
      std::string text;
      for (std::size_t n = random() % 16; n > 0; --n)
        text += characters[random() % characters.size()];
      ASSERT_EQ(pieces(*scanner, text, 1000), pieces(*regex, text, 1000)) << pattern << "\n"
                                                                          << text;
      ASSERT_EQ(pieces(*scanner, text, 2), pieces(*scanner, text, 1000)) << "in steps";
    }
  }
}

TEST(Families, ARunOfBlanksAtTheEndIsOnePieceOfCl100k) {
  EXPECT_EQ(pieces(*family_scanner(cl100k_pattern), "a \n ", 99),
            (std::vector<std::string>{"a", " \n "}));
  EXPECT_EQ(pieces(*family_scanner(llama3_pattern), "a \n ", 99),
            (std::vector<std::string>{"a", " \n", " "}));
}

TEST(Families, OtherPatternsAreNotTakenForThem) {
  EXPECT_FALSE(family_scanner(fmt::format("{}|x", gpt2_pattern)));
  EXPECT_FALSE(family_scanner(""));
}

TEST(MakeSplitter, RefusesPatternsThatPcre2ReadsDifferently) {
  for (const char* pattern : {R"(\h+)", "^a", "a$", "(?m)a.b", "[a&&b]", "[a[b]]", R"([\S])", "(a"})
    EXPECT_TRUE(test::is_usage_error([&] { make_splitter(pattern, "place"); })) << pattern;
  EXPECT_THAT(test::error_of([] { make_splitter("(a", "FILE: part"); }),
              testing::HasSubstr("FILE: part"));
}

TEST(MakeSplitter, SpaceIsWhiteSpaceOfUnicode) {
  const auto splitter = make_splitter(R"(\s)", "place");  // PCRE2's has U+180E, too
  EXPECT_EQ(pieces(*splitter, "\u180e\u2003", 9), (std::vector<std::string>{"~\u180e", "\u2003"}));
}

}  // namespace
}  // namespace triax
