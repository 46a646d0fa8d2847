// SPDX-License-Identifier: Apache-2.0
// Documents of files and of their ranges, line_reader and text_pieces included.
#include "io/documents/document_reader.hpp"

#include <algorithm>
#include <cstdint>

#include "io/documents/line_reader.hpp"
#include "io/documents/text_pieces.hpp"
#include "tests/io/document_fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string json_lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += "{\"text\": \"document " + std::to_string(i) + std::string(i % 90, 'x') + "\"}\n";
  return lines;
}

// About 10 MiB in lines of words, so that it is cut twice.
std::string long_text() {
  std::string text;
  for (std::int64_t i = 0; text.size() < 10U << 20; ++i)
    text += "line " + std::to_string(i * 7919) + " of a long text\n" + (i % 5 == 0 ? "\n" : "");
  return text;
}

TEST(DocumentReader, JsonLinesAreDocuments) {
  const TempDirectory dir;
  const std::string path = dir.file("a.jsonl",
                                    "\xef\xbb\xbf{\"text\": \"a\"}\r\n\n  \n{\"text\": "
                                    "\"b\\n\"}\n{\"text\": \"\"}\n{\"text\": \"c\"}");
  EXPECT_THAT(documents_of(path).texts, ElementsAre("a", "b\n", "c"));
}

TEST(DocumentReader, KeysAreJoined) {
  const TempDirectory dir;
  const std::string path = dir.file("a.jsonl", R"({"text": "b", "title": "a\t"})");
  EXPECT_THAT(documents_of(path, {.keys = {"title", "text"}, .join = "--"}).texts,
              ElementsAre("a\t--b"));
}

TEST(DocumentReader, LinesOrTheFileAreDocuments) {
  const TempDirectory dir;
  const std::string path = dir.file("a.txt", "one\r\n\ntwo");
  EXPECT_THAT(documents_of(path).texts, ElementsAre("one\r\n\ntwo"));
  EXPECT_THAT(documents_of(path, {}, DocumentFormat::lines).texts, ElementsAre("one", "two"));
}

// Wherever a file is cut into ranges, each line is in one of them.
TEST(DocumentReader, RangesOfLinesGiveEachLineOnce) {
  const TempDirectory dir;
  const std::string lines = json_lines(40);
  const InputFile file = find_inputs({dir.file("a.jsonl", lines)}, {}).front();
  const auto whole = documents_of(file, {0, file.bytes}).texts;
  ASSERT_EQ(whole.size(), 40U);
  for (std::int64_t step = 1; step < 400; step += 7) {
    std::vector<std::string> joined;
    for (std::int64_t begin = 0; begin < file.bytes; begin += step)
      for (const std::string& text :
           documents_of(file, {begin, std::min(file.bytes, begin + step)}).texts)
        joined.push_back(text);
    ASSERT_EQ(joined, whole) << step;
  }
}

TEST(DocumentReader, CompressedFilesGiveTheSameDocuments) {
  const TempDirectory dir;
  const std::string lines = json_lines(5000);
  const auto plain = documents_of(dir.file("a.jsonl", lines)).texts;
  ASSERT_EQ(plain.size(), 5000U);
  EXPECT_EQ(documents_of(dir.file("a.jsonl.gz", gzipped(lines))).texts, plain);
  EXPECT_EQ(documents_of(dir.file("a.jsonl.zst", zstandard(lines))).texts, plain);
}

TEST(DocumentReader, LongTextsComeInPiecesThatDependOnTheTextAlone) {
  const TempDirectory dir;
  const std::string text = long_text();
  const InputFile file = find_inputs({dir.file("a.txt", text)}, {}).front();
  const ReadDocuments whole = documents_of(file, {0, file.bytes});
  EXPECT_EQ(whole.pieces, 3U);
  ASSERT_EQ(whole.texts.size(), 1U);
  EXPECT_TRUE(whole.texts.front() == text);
  std::string joined;
  std::size_t pieces = 0;
  for (std::int64_t begin = 0; begin < file.bytes; begin += std::int64_t{piece_bytes}) {
    const ReadDocuments part = documents_of(
        file, {begin, std::min<std::int64_t>(file.bytes, begin + std::int64_t{piece_bytes})});
    pieces += part.pieces;
    ASSERT_EQ(part.texts.size(), 1U);
    std::string end = part.texts.front();
    if (end.ends_with("...")) end.resize(end.size() - 3);
    joined += end;
  }
  EXPECT_EQ(pieces, 3U);
  EXPECT_TRUE(joined == text);
  EXPECT_EQ(documents_of(dir.file("a.txt.gz", gzipped(text))).pieces, 3U);
  std::string escaped;
  for (const char c : text) escaped += c == '\n' ? std::string("\\n") : std::string(1, c);
  const auto json = documents_of(dir.file("a.jsonl", "{\"text\": \"" + escaped + "\"}"));
  EXPECT_EQ(json.pieces, 3U);
  EXPECT_TRUE(json.texts.front() == text);
}

TEST(DocumentReader, CutsAreInFrontOfLinesOfWords) {
  EXPECT_EQ(piece_cut("ab\n cd\n\nef\ngh", 2), 11U);  // behind "ef\n"
  EXPECT_EQ(piece_cut("ab\n cd\n\n", 2), 3U);         // no such line: at the first one
  EXPECT_EQ(piece_cut("a\xc3\xa9\xc3\xa9", 2), 3U);   // no line: at a character
  EXPECT_EQ(piece_cut("abc", 3), 3U);
}

TEST(DocumentReader, InvalidTextIsNamedReplacedOrLeftOut) {
  const TempDirectory dir;
  const std::string path =
      dir.file("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\xff\"}\n{\"text\": \"c\\ud800\"}\n");
  EXPECT_THAT(
      error_of([&] { documents_of(path); }),
      AllOf(HasSubstr(path + ":2: byte 25 of the file is not UTF-8"), HasSubstr("--invalid")));
  const auto replaced = documents_of(path, {.invalid = InvalidText::replace});
  EXPECT_THAT(replaced.texts, ElementsAre("a", "b\xef\xbf\xbd", "c\xef\xbf\xbd"));
  EXPECT_EQ(replaced.counts.replaced, 2);
  const auto skipped = documents_of(path, {.invalid = InvalidText::skip});
  EXPECT_THAT(skipped.texts, ElementsAre("a"));
  EXPECT_EQ(skipped.counts.invalid, 2);

  const std::string text = dir.file("a.txt", "one\ntwo \xc3(\n");
  EXPECT_THAT(error_of([&] { documents_of(text); }), HasSubstr(text + ":2: byte 8 of the file"));
  EXPECT_THAT(documents_of(text, {.invalid = InvalidText::skip}).texts, ElementsAre("(left out)"));
  const std::string gzip = dir.file("a.txt.gz", gzipped("one\ntwo \xc3(\n"));
  EXPECT_THAT(error_of([&] { documents_of(gzip); }), HasSubstr(gzip + ":2: byte 8 of the file"));
}

TEST(DocumentReader, BadLinesAreNamed) {
  const TempDirectory dir;
  const std::string path =
      dir.file("a.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\n\n{\"t\": 1}\n{\"text\": \"c\"}\n");
  const auto read = documents_of(path);
  EXPECT_THAT(read.texts, ElementsAre("a", "c"));
  EXPECT_THAT(read.bad,
              ElementsAre(AllOf(HasSubstr(path + ":2: byte 11 of the line"),
                                HasSubstr("ends within a string")),
                          AllOf(HasSubstr(path + ":4: "), HasSubstr("no string \"text\""))));
  EXPECT_EQ(read.counts.bad_lines, 2);
}

TEST(LineReader, LinesThatAreTooLongArePassedOver) {
  const TempDirectory dir;
  const std::string path =
      dir.file("a.jsonl", "{\"text\": \"a\"}\n" + std::string(LineReader::longest + 1, 'x') +
                              "\n{\"text\": \"b\"}\n");
  const auto read = documents_of(path);
  EXPECT_THAT(read.texts, ElementsAre("a", "b"));
  EXPECT_THAT(read.bad,
              ElementsAre(AllOf(HasSubstr(path + ":2: "), HasSubstr("longer than 64 MiB"))));
}

TEST(InputFiles, DirectoriesPatternsAndFiles) {
  const TempDirectory dir;
  std::filesystem::create_directories(dir.path("c/d"));
  dir.file("c/b.jsonl", "{}");
  dir.file("c/d/a.txt", "a");
  dir.file("c/notes.md", "n");
  dir.file("c/z.ndjson.gz", gzipped("{}"));
  const auto names = [&](const std::vector<std::string>& from) {
    std::vector<std::string> found;
    for (const InputFile& file : find_inputs(from, {}))
      found.push_back(std::filesystem::path(file.path).filename().string());
    return found;
  };
  EXPECT_THAT(names({dir.path("c")}), ElementsAre("b.jsonl", "a.txt", "z.ndjson.gz"));
  EXPECT_THAT(names({dir.path("c/*.md"), dir.path("c/notes.md"), dir.path("c/./notes.md")}),
              ElementsAre("notes.md"));
  EXPECT_EQ(find_inputs({dir.path("c/z.ndjson.gz")}, {}).front().format, DocumentFormat::json);
  EXPECT_EQ(find_inputs({dir.path("c/notes.md")}, {}).front().format, DocumentFormat::text);
  EXPECT_THAT(error_of([&] { find_inputs({dir.path("none")}, {}); }), HasSubstr("cannot open"));
  EXPECT_THAT(error_of([&] { find_inputs({dir.path("*.csv")}, {}); }),
              HasSubstr("no file matches"));
  const std::string false_gzip = dir.file("f.jsonl.gz", "{}");
  EXPECT_THAT(error_of([&] { find_inputs({false_gzip}, {}); }), HasSubstr("is not compressed"));
}

TEST(InputFiles, ChangedFilesAreNoticed) {
  const TempDirectory dir;
  const InputFile file = find_inputs({dir.file("a.txt", "a")}, {}).front();
  require_unchanged(file);
  dir.file("a.txt", "ab");
  EXPECT_THAT(error_of([&] { require_unchanged(file); }),
              HasSubstr("was changed while it was read"));
}

}  // namespace
}  // namespace triax::test
