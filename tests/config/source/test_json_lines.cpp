// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/json_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/base/check.hpp"

namespace triax {
namespace {
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string failure(const std::string& text) {
  ErrorList errors;
  try {
    parse_json(text, "f.json", errors);
    errors.raise();
  } catch (const UsageError& e) {
    return e.what();
  }
  return {};
}

TEST(JsonLines, RemembersTheLineOfEveryKey) {
  ErrorList errors;
  const auto document = parse_json(R"({
  "a": 1, "b":
     {"c": [1,
     2], // a comment
  /* two
     lines */ "d": {}},
  "e": [{"inside": 1}],
  "f": 2.5
})",
                                   "f.json", errors);
  EXPECT_EQ(document.lines,
            (std::map<std::string, int>{
                {"", 1}, {"a", 2}, {"b", 2}, {"b.c", 3}, {"b.d", 6}, {"e", 7}, {"f", 8}}));
  EXPECT_EQ(document.root,
            nlohmann::json::parse(R"({"a":1,"b":{"c":[1,2],"d":{}},"e":[{"inside":1}],"f":2.5})"));
  EXPECT_TRUE(errors.empty());
}

TEST(JsonLines, SaysThatAPointerOfGitLfsIsOne) {
  EXPECT_EQ(failure("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"),
            "f.json is a pointer of git-lfs, not the file itself. Fetch the file: git lfs pull");
}

// DeepSpeed reads its own files so.
TEST(JsonLines, CommentsAndLastCommasOfHjsonAreTaken) {
  ErrorList errors;
  const auto document = parse_json(R"({
  # "a": 0, "unclosed
  "a": "x # no comment, }", // "b": 1, # }
  "c": [1, 2, # two
    ], /* , */
  "d": {"e": "\\", "f": "\"#"}, // last
  # and
})",
                                   "f.json", errors);
  EXPECT_EQ(document.root, nlohmann::json::parse(
                               R"({"a":"x # no comment, }","c":[1,2],"d":{"e":"\\","f":"\"#"}})"));
  EXPECT_EQ(document.lines.at("d"), 6);
  EXPECT_EQ(parse_json("{\"a\": [1, # one\r2]}", "f.json", errors).root["a"].size(), 2U);
  for (const char* text : {R"({"a": [,]})", R"({,})", R"({"a": 1,,})", R"({"a": ,})", "{\"a\": 1,"})
    EXPECT_THROW(parse_json(text, "f.json", errors), UsageError) << text;
}

TEST(JsonLines, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(failure("{\n \"a\": [1,\n  2,,3]\n}"),
              StartsWith("f.json:3: not JSON at line 3, column 5 (syntax error"));
  EXPECT_THAT(failure("{\"a\": 1"), StartsWith("f.json:1: not JSON at line 1, column 8 "));
  EXPECT_THAT(failure(""), StartsWith("f.json:1: not JSON at line 1, column 1 "));
  EXPECT_THAT(failure("{} {}"), StartsWith("f.json:1: not JSON at line 1, column 4 "));
  EXPECT_EQ(
      failure("{\n\"a\": 1e999}"),
      "f.json:2: the number 1e999 at line 2, column 10 is too large. Write one below 1.8e308");
  EXPECT_THAT(
      failure("{\"a\": " + std::string(400, '7') + "}"),
      testing::EndsWith(": the number 77777777777777777777... at line 1, column 406 is too large. "
                        "Write one below 1.8e308"));
}

TEST(JsonLines, SaysThatACommaMayBeMissing) {
  for (const char* text : {"{\"a\": 1\n\"b\": 2}", "{\"a\": [\"x\" \"y\"]}"})
    EXPECT_THAT(failure(text), HasSubstr("; a comma may be missing before it"));
  EXPECT_THAT(failure("{\"a\": 1"), testing::Not(HasSubstr("a comma may be missing")));
}

TEST(JsonLines, NamesTextInUtf16) {
  using namespace std::string_literals;
  for (const std::string& text : {"\xff\xfe{\0}\0"s, "\xfe\xff\0{\0}"s, "{\0}\0"s, "\0{\0}"s})
    EXPECT_THAT(failure(text), StartsWith("f.json is text in UTF-16. Save it in UTF-8"));
}

TEST(JsonLines, NamesACheckpointGivenAsAJob) {
  const std::string path = testing::TempDir() + "not_a_job.h5";
  for (const std::size_t block : {std::size_t{0}, std::size_t{512}, std::size_t{4096}}) {
    std::ofstream(path, std::ios::binary) << std::string(block, '\0') << "\x89HDF\r\n\x1a\n"
                                          << std::string(100, 'x');
    try {
      (void)read_text(path);
      ADD_FAILURE() << "it is read";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("not_a_job.h5 is an HDF5 file, not JSON"),
                                      HasSubstr("--set checkpoint.resume=FILE")));
    }
  }
  std::filesystem::remove(path);
}

TEST(JsonLines, RefusesWhatIsNoObject) {
  EXPECT_THAT(failure("[1]"), HasSubstr("no JSON object (it is array)"));
}

TEST(JsonLines, RefusesKeysWrittenTwice) {
  EXPECT_EQ(failure("{\"a\": {\"b\": 1,\n\"b\": 2}, \"c\": {\"b\": 1}}"),
            "f.json:2: a.b: written twice in this object");
  EXPECT_EQ(failure("{\"a\": [{\"b\": 1, \"b\": 2}]}"),
            "f.json:1: a.b: written twice in this object");
}

TEST(JsonLines, TheValueOfAnOverrideIsJsonOrElseText) {
  ErrorList errors;
  EXPECT_EQ(parse_override("a", "[1, {\"b\": null}]", errors),
            nlohmann::json::parse("[1, {\"b\": null}]"));
  for (const std::string text : {"word", "{\"b\": 1", "1 // one", "", "1e999"})
    EXPECT_EQ(parse_override("a", text, errors), text);
  EXPECT_TRUE(errors.empty());
  parse_override("a.b", "{\"c\": 1,\n\"d\": {\"c\": 2, \"c\": 3}}", errors);
  EXPECT_THAT(errors.texts(), testing::ElementsAre("--set: a.b.d.c: written twice in this object"));
  EXPECT_THROW(parse_override("a", std::string(99, '[') + std::string(99, ']'), errors),
               UsageError);
}

TEST(JsonLines, BoundsTheDepth) {
  EXPECT_THAT(failure("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}"),
              HasSubstr("nested deeper than 64"));
}

TEST(JsonLines, SaysWhyAFileCannotBeRead) {
  EXPECT_THROW(read_text("/no/such/file"), UsageError);
  EXPECT_THROW(read_text("/"), UsageError);
}

}  // namespace
}  // namespace triax
