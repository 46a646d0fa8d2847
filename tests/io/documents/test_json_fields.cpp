// SPDX-License-Identifier: Apache-2.0
// JsonFields against nlohmann's parser, on given lines and on mutations of them.
#include "io/documents/json_fields.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

std::optional<std::string> text_of(const std::string& line) {
  JsonFields fields({"text"});
  if (fields.scan(line)) return {};
  std::string text;
  if (append_unescaped(fields.strings().front(), text)) return {};
  return text;
}

std::string problem_of(const std::string& line) {
  JsonFields fields({"text"});
  const auto problem = fields.scan(line);
  return problem ? std::to_string(problem->byte) + " " + problem->why : "";
}

TEST(JsonFields, TheLastOfEqualKeysCountsAndNestedOnesDoNot) {
  EXPECT_EQ(text_of(R"({"text": "a"})"), "a");
  EXPECT_EQ(text_of(R"( {"x": {"text": "b"}, "text":"a", "y": [{"text": "c"}]} )"), "a");
  EXPECT_EQ(text_of(R"({"text": "a", "text": "b"})"), "b");
  EXPECT_EQ(text_of(R"({"text": ""})"), "");
  EXPECT_EQ(text_of(R"({"te\u0078t": "a"})"), "a");
}

TEST(JsonFields, EscapesAreReplaced) {
  EXPECT_EQ(text_of(R"({"text": "\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00 z"})"),
            "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 z");
}

TEST(JsonFields, HalvesOfSurrogatePairsAreNamedOrReplaced) {
  for (const std::string raw : {"ab\\ud83d", "ab\\ude00\\ud83d", "ab\\ud83d\\u0041"}) {
    std::string text;
    EXPECT_EQ(append_unescaped(raw, text), 2U) << raw;
    std::size_t replaced = 0;
    text.clear();
    EXPECT_FALSE(append_unescaped(raw, text, &replaced));
    EXPECT_GE(replaced, 1U);
    EXPECT_TRUE(text.starts_with("ab\xef\xbf\xbd")) << text;
  }
}

TEST(JsonFields, ProblemsAreNamedWithTheirByte) {
  EXPECT_THAT(problem_of(R"({"text": "a)"), HasSubstr("11 the line ends within a string"));
  EXPECT_THAT(problem_of(R"({"text" "a"})"), HasSubstr("8 a colon is missing"));
  EXPECT_THAT(problem_of(R"({"text": "a"} x)"), HasSubstr("14 there is text behind"));
  EXPECT_THAT(problem_of(R"({"text": "a" "b"})"), HasSubstr("13 a comma or } is missing"));
  EXPECT_THAT(problem_of(R"(["text"])"), HasSubstr("0 it is no JSON object"));
  EXPECT_THAT(problem_of(R"({"text": 7})"), HasSubstr("has no string \"text\""));
  EXPECT_THAT(problem_of(R"({"a": 01, "text": "a"})"), HasSubstr("a number begins with 0"));
  EXPECT_THAT(problem_of("{\"text\": \"a\tb\"}"), HasSubstr("11 a control character"));
  EXPECT_THAT(problem_of("{\"text\":" + std::string(5000, '[')), HasSubstr("nested more than"));
}

TEST(JsonFields, SeveralKeysComeInTheirOrder) {
  JsonFields fields({"title", "text"});
  const std::string line = R"({"text": "b", "n": -1.5e+3, "title": "a"})";
  ASSERT_FALSE(fields.scan(line));
  EXPECT_EQ(fields.strings()[0], "a");
  EXPECT_EQ(fields.strings()[1], "b");
  EXPECT_EQ(fields.position(1), line.find("b\","));
}

// Lines with one byte changed, removed or doubled: both parsers accept the same ones, with one
// text.
TEST(JsonFields, AgreesWithAParserOnMutatedLines) {
  const std::vector<std::string> lines = {
      R"({"text": "a\u00e9\n\ud83d\ude00b", "n": [1, -2.5e3, 0, true, false, null, {}], "o": {"p": "\\"}})",
      R"({"a":[[],{"b":"c"}],"text":"plain text of some length, so that words are skipped"})"};
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string line = lines[i % lines.size()];
    const std::size_t at = random() % line.size();
    const std::string bytes = "{}[]\",:\\u0eE+-.19 \ttn\x01";
    if (i % 3 == 0) line[at] = bytes[random() % bytes.size()];
    if (i % 3 == 1) line.erase(at, 1);
    if (i % 3 == 2) line.insert(at, 1, bytes[random() % bytes.size()]);
    const auto object = nlohmann::json::parse(line, nullptr, false);
    const bool has_text =
        object.is_object() && object.contains("text") && object["text"].is_string();
    const auto text = text_of(line);
    ASSERT_EQ(text.has_value(), has_text) << line;
    if (!has_text) continue;
    ++accepted;
    ASSERT_EQ(*text, object["text"].get<std::string>()) << line;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace triax::test
