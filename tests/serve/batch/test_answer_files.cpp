// SPDX-License-Identifier: Apache-2.0
#include "src/serve/batch/answer_files.hpp"

#include <fmt/format.h>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

std::string answer(std::int64_t line) {
  return fmt::format(R"({{"line":{},"text":"of line {}"}})", line, line);
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

TEST(AnswerFiles, KeepsWhatIsWritten) {
  const TempDirectory directory;
  {
    AnswerFiles files(directory.path());
    files.add(3, false, answer(3));
    files.add(7, true, answer(7));
    files.commit();
    files.add(1, false, answer(1));  // never committed, as by a process that is killed
  }
  AnswerFiles files(directory.path());
  for (const std::int64_t line : {1, 2, 3, 4, 7, 100})
    EXPECT_EQ(files.has(line), line == 1 || line == 3 || line == 7) << line;
  EXPECT_EQ(files.counts().answers, 3);
  EXPECT_EQ(files.counts().errors, 1);
  files.add(2, false, answer(2));
  files.commit();
  EXPECT_EQ(contents(directory.path("answers-00000.jsonl")),
            answer(3) + "\n" + answer(1) + "\n" + answer(2) + "\n");
  EXPECT_EQ(contents(directory.path("errors.jsonl")), answer(7) + "\n");
  EXPECT_EQ(
      contents(directory.path("index.tsv")),
      "3\tanswers-00000.jsonl\t0\t30\n7\terrors.jsonl\t0\t30\n1\tanswers-00000.jsonl\t30\t30\n"
      "2\tanswers-00000.jsonl\t60\t30\n");
  EXPECT_EQ(answer_counts(directory.path()).answers, 4);
  EXPECT_EQ(answer_counts(directory.path()).errors, 1);
  EXPECT_THROW(files.add(2, false, answer(2)), Error);
}

// A process is killed within any byte of what it writes.
TEST(AnswerFiles, CutsOffTornAnswersAndRows) {
  const std::string torn = answer(9) + "\n", row = "9\tanswers-00000.jsonl\t30\t30\n";
  for (std::size_t bytes = 0; bytes <= torn.size(); ++bytes) {
    const TempDirectory directory;
    {
      AnswerFiles files(directory.path());
      files.add(5, false, answer(5));
      files.commit();
    }
    append(directory.path("answers-00000.jsonl"), torn.substr(0, bytes));
    append(directory.path("index.tsv"), row.substr(0, bytes == torn.size() ? bytes % 20 : 0));
    AnswerFiles files(directory.path());
    EXPECT_EQ(files.has(9), bytes == torn.size()) << bytes;
    if (!files.has(9)) files.add(9, false, answer(9));
    files.commit();
    EXPECT_EQ(contents(directory.path("answers-00000.jsonl")), answer(5) + "\n" + torn);
    EXPECT_EQ(contents(directory.path("index.tsv")), "5\tanswers-00000.jsonl\t0\t30\n" + row);
  }
}

TEST(AnswerFiles, BeginsShardAfterShard) {
  const TempDirectory directory;
  for (std::int64_t line = 1; line <= 5; ++line) {
    AnswerFiles files(directory.path(), 60);  // two answers each
    files.add(line, false, answer(line));
  }
  EXPECT_EQ(contents(directory.path("answers-00001.jsonl")), answer(3) + "\n" + answer(4) + "\n");
  EXPECT_EQ(contents(directory.path("answers-00002.jsonl")), answer(5) + "\n");
  EXPECT_EQ(AnswerFiles(directory.path(), 60).counts().answers, 5);
}

TEST(AnswerFiles, RefusesFilesThatLostAnswers) {
  const TempDirectory directory;
  {
    AnswerFiles files(directory.path());
    files.add(5, false, answer(5));
    files.commit();
  }
  const auto opened = [&] { return error_of([&] { AnswerFiles(directory.path()); }); };
  EXPECT_EQ(opened(), "");
  std::filesystem::resize_file(directory.path("answers-00000.jsonl"), 10);
  EXPECT_THAT(opened(), HasSubstr("answers-00000.jsonl is damaged"));
  std::filesystem::remove(directory.path("answers-00000.jsonl"));
  EXPECT_THAT(opened(), HasSubstr("it is missing"));
  directory.file("index.tsv", "5\tanswers\n");
  EXPECT_THAT(opened(), HasSubstr("index.tsv is damaged"));
}

}  // namespace
}  // namespace triax::test
