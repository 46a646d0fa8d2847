// SPDX-License-Identifier: Apache-2.0
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::int32_t> bytes(std::string_view text) {
  std::vector<std::int32_t> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

TEST(JsonlTokens, AreTheTextsJoined) {
  const TempDirectory dir;
  const std::string lines =
      "{\"text\": \"ab\\n\\u00e9\", \"id\": 1}\r\n\n   \n{\"id\": 2, \"text\": \"\"}\n "
      "{\"text\":\"\\\"x\\\"\"}";
  const auto file = open_tokens(dir.file("a.jsonl", lines));
  EXPECT_EQ(file->format(), "jsonl");
  expect_every_range(*file, bytes("ab\n\xc3\xa9\n\n\"x\""));
}

TEST(JsonlTokens, OneLine) {
  const TempDirectory dir;
  expect_every_range(*open_tokens(dir.file("a", "{\"text\":\"abc\"}\n")), bytes("abc"));
}

TEST(JsonlTokens, BeginBehindTheMarkOfUtf8) {
  const TempDirectory dir;
  const auto file =
      open_tokens(dir.file("a.jsonl", "\xef\xbb\xbf{\"text\":\"abc\"}\n{\"text\":\"d\"}"));
  EXPECT_EQ(file->format(), "jsonl");
  expect_every_range(*file, bytes("abc\nd"));
}

// "ab" becomes "\b", one byte: the next lines stay at their offsets, but their token positions
// change.
TEST(JsonlTokens, ALineOfAnotherLengthIsAnErrorThatNamesTheFile) {
  const TempDirectory dir;
  for (const std::string lines : {"{\"text\":\"ab\"}\n{\"text\":\"def\"}\n", "{\"text\":\"ab\"}"}) {
    const std::string path = dir.file("a.jsonl", lines);
    const auto file = open_tokens(path);
    std::fstream(path, std::ios::in | std::ios::out).seekp(9).put('\\');
    EXPECT_THAT(error_of([&] { tokens_at(*file, 1, 1); }),
                AllOf(HasSubstr("cannot read " + path), HasSubstr("changed during use")));
  }
}

TEST(JsonlTokens, ALineThatWasCutOffInUseIsAnErrorThatNamesTheFile) {
  const TempDirectory dir;
  const std::string path = dir.file("a.jsonl", "{\"text\":\"abc\"}\n{\"text\":\"def\"}\n");
  const auto file = open_tokens(path);
  std::filesystem::resize_file(path, 24);
  EXPECT_THAT(error_of([&] { tokens_at(*file, 4, 3); }),
              AllOf(HasSubstr("cannot read " + path), HasSubstr("made shorter")));
}

TEST(JsonlTokens, ABadLineIsNamed) {
  const TempDirectory dir;
  for (const std::string bad : {"{\"text\": \"torn", "[]", "{\"text\": 5}", "{\"words\": \"x\"}"}) {
    const std::string path = dir.file("a.jsonl", "{\"text\":\"a\"}\n\n" + bad + "\n");
    EXPECT_THAT(error_of([&] { open_tokens(path); }), HasSubstr("a.jsonl:3")) << bad;
  }
}

TEST(JsonlTokens, WithoutAnyTextAreRefused) {
  const TempDirectory dir;
  EXPECT_THAT(error_of([&] { open_tokens(dir.file("a.jsonl", "{\"text\":\"\"}\n")); }),
              HasSubstr("no text"));
  // The file must not be read as plain text silently.
  EXPECT_THAT(error_of([&] { open_tokens(dir.file("b.jsonl", "{\"content\":\"x\"}\n")); }),
              AllOf(HasSubstr("b.jsonl"), HasSubstr("\"text\"")));
  EXPECT_EQ(open_tokens(dir.file("b.txt", "{\"content\":\"x\"}\n"))->format(), "text");
}

// Text under another name stays text: source code may begin with a brace.
TEST(JsonlTokens, AFileNamedJsonIsNeverTrainedOnAsRawText) {
  const TempDirectory dir;
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"[{\"text\": \"a\"},\n{\"text\": \"b\"}]\n", "it begins with a JSON array"},
           {"{\n  \"text\": \"a\"\n}\n", "no complete JSON object: "},
           {"{\"text\": \"\\ud800\"}\n", "no complete JSON object: "},
           {"// a comment\n{\"text\": \"a\"}\n", "no complete JSON object: "},
           {"{\"content\": \"a\"}\n", "its first line has no string \"text\""},
           {"12\n", "its first line is no JSON object"},
           {" \n\n", "no line that is not blank"}})
    for (const char* name : {"a.jsonl", "a.json"}) {
      EXPECT_THAT(error_of([&] { open_tokens(dir.file(name, text)); }),
                  AllOf(HasSubstr(std::string(name) + " is not JSON lines of text"), HasSubstr(why),
                        HasSubstr("per line (jq -c")))
          << text;
      EXPECT_EQ(open_tokens(dir.file("a.txt", text))->format(), "text") << text;
    }
  const std::string path = dir.file("b.json", "{\"text\":\"abc\"}\n");
  EXPECT_EQ(open_tokens(path)->format(), "jsonl");
}

}  // namespace
}  // namespace triax
