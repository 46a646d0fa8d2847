// SPDX-License-Identifier: Apache-2.0
#include "src/axolotl/yaml_document.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

ordered_json root_of(const std::string& text) {
  ErrorList errors;
  const auto document = parse_yaml(text, "config.yml", errors);
  errors.raise();
  return document.root;
}

std::string error_of(const std::string& text) {
  try {
    root_of(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

// Plain scalars are read as by PyYAML, but that it leaves 1e-4 as a text.
TEST(YamlDocument, ReadsPlainScalars) {
  const auto value = [](const std::string& text) { return root_of("k: " + text + "\n")["k"]; };
  for (const char* text : {"yes", "Yes", "on", "true", "TRUE"})
    EXPECT_EQ(value(text), true) << text;
  for (const char* text : {"no", "NO", "off", "False"}) EXPECT_EQ(value(text), false) << text;
  for (const char* text : {"", "~", "null", "NULL"}) EXPECT_TRUE(value(text).is_null()) << text;
  EXPECT_EQ(value("12"), 12);
  EXPECT_EQ(value("-1_000"), -1000);
  EXPECT_EQ(value("0.05"), 0.05);
  EXPECT_EQ(value("1e-4"), 1e-4);
  EXPECT_EQ(value("1.e+3"), 1000.0);
  EXPECT_EQ(value("2e-5  # a comment"), 2e-5);
  for (const char* text : {"1.2.3", "010", "yess", "0x10", "1e", "./out"})
    EXPECT_EQ(value(text), text) << text;
}

TEST(YamlDocument, TextInQuotesStaysText) {
  const auto root = root_of("a: \"1e-4\"\nb: 'yes'\nc: ''\nd: |\n  two\n  lines\n");
  EXPECT_EQ(root["a"], "1e-4");
  EXPECT_EQ(root["b"], "yes");
  EXPECT_EQ(root["c"], "");
  EXPECT_EQ(root["d"], "two\nlines\n");
}

TEST(YamlDocument, KnowsTheLineOfEachKey) {
  ErrorList errors;
  const auto document = parse_yaml(
      "# a comment\nbase: x\nlist:\n  - path: a\n    type: b\n  - path: c\n", "f", errors);
  EXPECT_EQ(document.lines.at(""), 2);
  EXPECT_EQ(document.lines.at("base"), 2);
  EXPECT_EQ(document.lines.at("list[0].type"), 5);
  EXPECT_EQ(document.lines.at("list[1]"), 6);
  EXPECT_EQ(document.lines.at("list[1].path"), 6);
}

TEST(YamlDocument, ResolvesAnchorsAndMerges) {
  const auto root = root_of(
      "base: &base {path: a, type: chat}\nother: &other\n  type: text\n  ds: json\n"
      "one:\n  <<: *base\n  type: own\ntwo:\n  <<: [*base, *other]\nthree: *other\n");
  EXPECT_EQ(root["one"], (ordered_json{{"type", "own"}, {"path", "a"}}));
  EXPECT_EQ(root["two"]["type"], "chat") << "the first of the list wins";
  EXPECT_EQ(root["two"]["ds"], "json");
  EXPECT_EQ(root["three"], root["other"]);
  EXPECT_THAT(error_of("a:\n  <<: 3\n"), HasSubstr("config.yml:2: <<: expected a map"));
}

TEST(YamlDocument, RefusesWhatIsNoMapOfValues) {
  EXPECT_THAT(error_of("a: 1\n\tb: 2\n"),
              HasSubstr("config.yml:2: not YAML at column 1 (illegal tab when looking for "
                        "indentation). Indent with blanks"));
  EXPECT_THAT(error_of("a:\n  - b: 1\n   c: 2\n"), HasSubstr("config.yml:3: not YAML at column"));
  EXPECT_THAT(error_of("a: 1\nb: 2\na: 3\n"),
              HasSubstr("config.yml:3: a: written twice, first in line 1"));
  EXPECT_THAT(error_of("d:\n  - path: a\n    path: b\n"),
              HasSubstr("config.yml:3: d[0].path: written twice"));
  for (const char* text : {"", "- a\n- b\n", "text\n"})
    EXPECT_THAT(error_of(text), HasSubstr("expected a map of Axolotl's keys")) << text;
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), HasSubstr("a second document begins here"));
  EXPECT_THAT(error_of("a: !!python/object x\n"), HasSubstr("is not read. Leave it out"));
}

// An alias within itself, and lists of lists that would fill the memory.
TEST(YamlDocument, RefusesEndlessAliases) {
  EXPECT_THAT(error_of("a: &a [1, *a]\n"), HasSubstr("Write it without aliases"));
  std::string text = "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int i = 1; i < 8; ++i) {
    text += fmt::format("x{0}: &x{0} [*x{1}", i, i - 1);
    for (int copy = 0; copy < 9; ++copy) text += fmt::format(", *x{}", i - 1);
    text += "]\n";
  }
  EXPECT_THAT(error_of(text), HasSubstr("Write it without aliases"));
}

}  // namespace
}  // namespace triax
