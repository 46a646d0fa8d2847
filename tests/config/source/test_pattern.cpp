// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/pattern.hpp"

#include <gmock/gmock.h>

#include "tests/config/job_files.hpp"

namespace triax {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

class Pattern : public testing_support::JobFiles {
 protected:
  std::vector<std::string> matches(const std::string& directory, const std::string& pattern) {
    std::vector<std::string> names;
    for (const std::string& file : match_pattern(path(directory), pattern).files)
      names.push_back(file.substr(path(directory).size() + 1));
    return names;
  }
};

TEST_F(Pattern, MatchesNamesOfEachLevel) {
  for (const char* name : {"c/a/1.bin", "c/a/2.bin", "c/b/1.bin", "c/b/deeper/3.bin", "c/x.txt"})
    write(name, "x");
  EXPECT_THAT(matches("c", "*/1.bin"), ElementsAre("a/1.bin", "b/1.bin"));
  EXPECT_THAT(matches("c", "a/?.bin"), ElementsAre("a/1.bin", "a/2.bin"));
  EXPECT_THAT(matches("c", "[!b]/*"), ElementsAre("a/1.bin", "a/2.bin"));
  EXPECT_THAT(matches("c", "*/*/*"), ElementsAre("b/deeper/3.bin"));
  EXPECT_THAT(matches("c", "*"), ElementsAre("x.txt")) << "without directories";
  EXPECT_THAT(matches("c", "*/1.bin/*"), IsEmpty());
  EXPECT_THAT(match_pattern({}, path("c/a/*")).files,
              ElementsAre(path("c/a/1.bin"), path("c/a/2.bin")));
}

TEST_F(Pattern, MatchesComeInTheOrderOfBytes) {
  for (const char* name : {"c/a-b/1", "c/a/1", "c/B/1", "c/shard_10/1", "c/shard_2/1"})
    write(name, "x");
  EXPECT_THAT(matches("c", "*/1"), ElementsAre("B/1", "a-b/1", "a/1", "shard_10/1", "shard_2/1"));
}

TEST_F(Pattern, HiddenFilesAreMatchedByTheirDotAlone) {
  for (const char* name : {"c/.hidden.bin", "c/seen.bin", "c/.cache/1.bin"}) write(name, "x");
  EXPECT_THAT(matches("c", "*.bin"), ElementsAre("seen.bin"));
  EXPECT_THAT(matches("c", "?hidden.bin"), IsEmpty());
  EXPECT_THAT(matches("c", "[.]hidden.bin"), IsEmpty());
  EXPECT_THAT(matches("c", "*/1.bin"), IsEmpty());
  EXPECT_THAT(matches("c", ".h*"), ElementsAre(".hidden.bin"));
}

// "run[1]" as a pattern matches "run1".
TEST_F(Pattern, TheDirectoryHasANameAlone) {
  for (const std::string name : {"run[1]", "what?", "back\\slash", "all*", "{a,b}", "~", "a b"}) {
    write(name + "/data/a.bin", "x");
    EXPECT_THAT(matches(name, "data/*.bin"), ElementsAre("data/a.bin")) << name;
    EXPECT_THAT(matches(name, "*/a.bin"), ElementsAre("data/a.bin")) << name;
  }
  for (const char* other : {"run1", "whats", "backslash", "alles"}) {
    write(std::string(other) + "/data/b.bin", "x");
    EXPECT_THAT(matches("run[1]", "data/*.bin"), ElementsAre("data/a.bin"));
  }
}

TEST_F(Pattern, ABackslashTakesTheNextCharacterAsItIs) {
  for (const char* name : {"c/a*.bin", "c/ab.bin", "c/d[1]/x", "c/d1/x", "c/b\\s"})
    write(name, "x");
  EXPECT_THAT(matches("c", "a\\*.bin"), ElementsAre("a*.bin"));
  EXPECT_THAT(matches("c", "d\\[1]/*"), ElementsAre("d[1]/x"));
  EXPECT_THAT(matches("c", "d[1]/*"), ElementsAre("d1/x"));
  EXPECT_THAT(matches("c", "b\\\\s"), ElementsAre("b\\s"));
  EXPECT_THAT(matches("c", "no\\*"), IsEmpty());
}

TEST_F(Pattern, OfANameMatchesThatFileAlone) {
  for (const std::string name :
       {"plain.bin", "a*.bin", "b?[1].bin", "back\\slash", "[!x]", "end\\"}) {
    write("c/" + name, "x");
    for (const char* other : {"c/ab.bin", "c/bc1.bin", "c/backslash", "c/y", "c/end"})
      write(other, "x");
    EXPECT_FALSE(is_pattern(pattern_of(name))) << name;
    EXPECT_EQ(name_of_pattern(pattern_of(name)), name);
    EXPECT_THAT(matches("c", pattern_of(name)), ElementsAre(name));
  }
  EXPECT_TRUE(is_pattern("a\\\\*"));
}

TEST_F(Pattern, LinksToNothingAreNamedAndDirectoriesLeftOut) {
  std::filesystem::create_directories(path("c/directory"));
  std::filesystem::create_symlink("gone", path("c/link"));
  EXPECT_THAT(matches("c", "*"), ElementsAre("link")) << "for its reader to refuse";
}

}  // namespace
}  // namespace triax
