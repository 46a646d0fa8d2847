// SPDX-License-Identifier: Apache-2.0
#include "src/launch/output_target.hpp"

#include <unistd.h>

#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using TargetKind = OutputTarget::Kind;

template <class Action>
std::string mistake(Action&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(OutputTarget, MakesTheDirectoriesAndLeavesNoneEmpty) {
  const TempDirectory dir;
  for (const char* path : {"a/b/out", "a/b/out/"}) {
    const OutputTarget target(dir.path(path), TargetKind::directory);
    EXPECT_TRUE(std::filesystem::is_directory(dir.path("a/b/out"))) << path;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  {
    const OutputTarget target(dir.path("a/b/c.h5"), TargetKind::file);
    dir.file("a/b/c.h5", "weights");
  }
  EXPECT_EQ(contents(dir.path("a/b/c.h5")), "weights");
  EXPECT_FALSE(std::filesystem::exists(dir.path("a/b/c.h5.lock")));
}

TEST(OutputTarget, LeavesADirectoryThatWasThere) {
  const TempDirectory dir;
  std::filesystem::create_directory(dir.path("out"));
  { const OutputTarget target(dir.path("out"), TargetKind::directory); }
  EXPECT_TRUE(std::filesystem::is_directory(dir.path("out")));
}

TEST(OutputTarget, RemovesWhatAKilledCommandLeftOfAFileButNotARunningOnes) {
  const TempDirectory dir;
  const std::string unfinished = dir.file("c.h5.tmp", "half");
  dir.file("c.h5.lock", "process 1 on a machine that is gone");
  {
    const OutputTarget target(dir.path("c.h5"), TargetKind::file);
    EXPECT_FALSE(std::filesystem::exists(unfinished));
    dir.file("c.h5.tmp", "being written");
    EXPECT_THROW(OutputTarget(dir.path("c.h5"), TargetKind::file), Error);
    EXPECT_TRUE(std::filesystem::exists(unfinished));
  }
  EXPECT_FALSE(std::filesystem::exists(dir.path("c.h5.lock")));
}

TEST(OutputTarget, RefusesWhatCannotBeWritten) {
  const TempDirectory dir;
  const auto look = [&](const std::string& path, TargetKind kind) {
    return [=] { OutputTarget(path, kind); };
  };
  const std::string file = dir.file("words", "words");
  std::filesystem::create_symlink(dir.path("nothing"), dir.path("link"));
  EXPECT_THAT(mistake(look(file, TargetKind::directory)), HasSubstr("words is not a directory"));
  EXPECT_THAT(mistake(look(file + "/c.h5", TargetKind::file)),
              HasSubstr("words is not a directory"));
  EXPECT_THAT(mistake(look(dir.path("link"), TargetKind::directory)), HasSubstr("link to nothing"));
  EXPECT_THAT(mistake(look(dir.path(), TargetKind::file)), HasSubstr("is a directory"));
  EXPECT_THAT(mistake(look(dir.path("new/"), TargetKind::file)), HasSubstr("is a directory"));
  EXPECT_THAT(mistake(look("/dev/null", TargetKind::file)),
              HasSubstr("/dev/null is a pipe or a device"));
  EXPECT_THAT(error_of(look("/proc/triax/out", TargetKind::directory)),
              HasSubstr("cannot create the directory /proc/triax/out"));
  EXPECT_EQ(contents(file), "words");
}

TEST(OutputTarget, OfAnotherProcessIsNamed) {
  const TempDirectory dir;
  const OutputTarget file(dir.path("c.h5"), TargetKind::file);
  const OutputTarget directory(dir.path("out"), TargetKind::directory);
  for (const auto& [name, kind] :
       {std::pair("c.h5", TargetKind::file), {"out", TargetKind::directory}})
    EXPECT_THAT(error_of([&, path = dir.path(name), kind = kind] { OutputTarget(path, kind); }),
                AllOf(HasSubstr("another command writes " + dir.path(name)),
                      HasSubstr(fmt::format("process {}", getpid()))));
  EXPECT_NO_THROW(OutputTarget(dir.path("d.h5"), TargetKind::file));
}

}  // namespace
}  // namespace triax::test
