// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "tests/io/rank_fixtures.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::HasSubstr;

std::string line(const std::string& text) {
  return "{\"text\":\"" + text + "\"}\n";
}

// Path of a file with this content. Rank 0 writes it after all ranks are done with the previous
// one.
std::string written(const SharedDirectory& dir, const std::string& content) {
  const std::string path = dir.path("a.jsonl");
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::ofstream(path) << content;
  MPI_Barrier(MPI_COMM_WORLD);
  return path;
}

// Ranks together find the same lines as one rank alone, wherever their shares begin: within a line,
// at its start, behind the last line, or within a line longer than a share.
TEST(JsonlTokensOfRanks, AreThoseOfOne) {
  const SharedDirectory dir;
  const std::vector<std::string> files{
      line("abc"), line("a") + line("bc") + line(""), line(std::string(400, 'x')) + line("b"),
      line("a") + "\n \n" + line(std::string(300, 'y')) + "\n\n\n",
      "\n\n" + line("aa") + line("bbb") + line("cccc") + line("d") + "{\"text\":\"no end\"}"};
  for (const std::string& content : files) {
    const std::string path = written(dir, content);
    const auto file = open_tokens(path, MPI_COMM_WORLD);
    EXPECT_EQ(all_tokens(*file), all_tokens(*open_tokens(path))) << content;
    expect_every_range(*file, all_tokens(*file));
  }
}

// All ranks report the number of the first bad line.
TEST(JsonlTokensOfRanks, NameTheFirstBadLine) {
  const SharedDirectory dir;
  for (int bad = 2; bad <= 12; ++bad) {
    std::string content;
    for (int number = 1; number <= 12; ++number)
      content += number == bad || number == 12 ? "{\"text\": 5}\n"
                 : number == 5                 ? "\n"
                                               : line("ab");
    const std::string path = written(dir, content);
    EXPECT_THAT(error_of([&] { open_tokens(path, MPI_COMM_WORLD); }),
                HasSubstr("a.jsonl:" + std::to_string(bad) + " "));
  }
}

}  // namespace
}  // namespace triax
