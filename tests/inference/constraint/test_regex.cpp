// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/regex.hpp"

#include <gmock/gmock.h>

#include <random>
#include <regex>

#include "tests/inference/constraint/accepted.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

// The regular expressions of the standard library are the judge, on all short texts.
TEST(Regex, MatchesWhatTheStandardLibraryMatches) {
  for (const char* text :
       {"a*b",      "(ab|a)(c|bc)",  "a{2,3}", "a{2}b?",   "a{2,}",   "[ab]c[^a]",
        "(a|b)*c",  "(?:ab)+c?",     "a+?b*?", "\\d[a-c]", "[a-]c|b", "(a*)*b",
        "(a|b?)+c", "((a|b)c){1,2}", "\\w\\W", "",         "a||b",    "[\\d\\-a]b",
        "^ab$",     "a{0}b",         "a{0,2}"}) {
    Automaton automaton = automaton_of(Kind::regex, text);
    const std::regex judge(text);
    std::vector<std::string> texts = {""};
    for (std::size_t at = 0; at < texts.size(); ++at) {
      EXPECT_EQ(accepts(automaton, texts[at]), std::regex_match(texts[at], judge))
          << text << " on " << texts[at];
      if (texts[at].size() < 5)
        for (const char c : std::string("abc1-")) texts.push_back(texts[at] + c);
    }
  }
}

TEST(Regex, HasCharactersOfUnicode) {
  Automaton word = automaton_of(Kind::regex, "[a-zá-ž]+\\u4e2d.");
  EXPECT_TRUE(accepts(word, "žluť中文"));
  EXPECT_FALSE(accepts(word, "žluť中"));
  EXPECT_FALSE(accepts(word, "žluť中\n"));
  EXPECT_FALSE(accepts(word, "žluť中\xe6\x96"));
}

TEST(Regex, RefusesByName) {
  const auto error = [](const char* text) {
    return error_of([&] { grammar_of({.kind = Kind::regex, .text = text}); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(error("a(?=b)"), HasSubstr("lookaround"));
  EXPECT_THAT(error("(a)\\1"), HasSubstr("\\1"));
  EXPECT_THAT(error("\\bab"), HasSubstr("\\b"));
  EXPECT_THAT(error("\\p{L}"), HasSubstr("\\p"));
  EXPECT_THAT(error("a^b"), HasSubstr("anchor"));
  EXPECT_THAT(error("^a|b"), HasSubstr("^(?:a|b)$"));
  EXPECT_THAT(error("(a"), HasSubstr("( without )"));
  EXPECT_THAT(error("a)"), HasSubstr(") without ("));
  EXPECT_THAT(error("[a"), HasSubstr("[ without ]"));
  EXPECT_THAT(error("*a"), HasSubstr("repetition of nothing"));
  EXPECT_THAT(error("a{3,2}"), HasSubstr("from more to fewer"));
  EXPECT_THAT(error("(a{9999}){9999}"), HasSubstr("too large"));
  EXPECT_THAT(error(std::string(500, '(').c_str()), HasSubstr("too many groups"));
  EXPECT_EQ(error("(?P<year>\\d{4})-(?<month>\\d\\d)$"), "");
}

}  // namespace
}  // namespace triax::test
