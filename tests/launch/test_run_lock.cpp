// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_lock.hpp"

#include <thread>

#include "kernels/base/check.hpp"
#include "tests/io/fixtures.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Config config_in(const std::string& run, const std::string& checkpoints) {
  Config config;
  config.run.directory = run;
  config.checkpoint.directory = checkpoints;
  return config;
}

constexpr std::chrono::milliseconds none{0};

TEST(RunLock, HoldsTheRunsDirectory) {
  const TempDirectory directory;
  const Config config = config_in(directory.path("a/run"), directory.path("a/run/checkpoints"));
  const RunLock lock(config);
  EXPECT_THAT(error_of([&] { RunLock again(config, none); }),
              AllOf(HasSubstr("another run works in " + config.run.directory), HasSubstr("process"),
                    HasSubstr("run.directory")));
}

TEST(RunLock, HoldsCheckpointsThatTwoRunsShare) {
  const TempDirectory directory;
  const std::string shared = directory.path("shared");
  const RunLock lock(config_in(directory.path("a"), shared));
  EXPECT_THAT(
      error_of([&] { RunLock again(config_in(directory.path("b"), shared), none); }),
      AllOf(HasSubstr("another run works in " + shared), HasSubstr("checkpoint.directory")));
  Config reader = config_in(directory.path("c"), shared);
  reader.checkpoint.at_end = false;
  EXPECT_NO_THROW(RunLock only_reads(reader));
}

// A run that writes no checkpoints by itself writes them there on a signal.
TEST(RunLock, HoldsCheckpointsInItsOwnDirectoryAlsoWhereNoneAreAskedFor) {
  const TempDirectory directory;
  Config config = config_in(directory.path("run"), directory.path("run/checkpoints"));
  config.checkpoint.at_end = false;
  const RunLock lock(config);
  EXPECT_THAT(error_of([&] {
                RunLock again(config_in(directory.path("b"), directory.path("run/checkpoints")),
                              none);
              }),
              HasSubstr("another run works in"));
}

TEST(RunLock, OneDirectoryForBothIsNoConflict) {
  const TempDirectory directory;
  EXPECT_NO_THROW(RunLock(config_in(directory.path(), directory.path() + "/.")));
}

TEST(RunLock, RemovesWhatAKilledRunLeftButNotARunningOnes) {
  const TempDirectory directory;
  const Config config = config_in(directory.path("run"), directory.path("run/checkpoints"));
  {
    const RunLock lock(config);
    directory.file("run/checkpoints/step-000010.h5.tmp", "x");
    EXPECT_THROW((RunLock{config, none}), Error);
    EXPECT_TRUE(std::filesystem::exists(directory.path("run/checkpoints/step-000010.h5.tmp")));
  }
  const RunLock next(config);
  EXPECT_FALSE(std::filesystem::exists(directory.path("run/checkpoints/step-000010.h5.tmp")));
}

TEST(RunLock, DirectoriesThatItMadeAndThatNothingWasWrittenToGoWithIt) {
  const TempDirectory directory;
  const std::string run = directory.path("a/run");
  { const RunLock refused(config_in(run, run + "/checkpoints")); }
  EXPECT_FALSE(std::filesystem::exists(directory.path("a")));
  {
    const RunLock used(config_in(run, run + "/checkpoints"));
    directory.file("a/run/job.json", "{}");
  }
  EXPECT_TRUE(std::filesystem::exists(run + "/.lock"));
  EXPECT_FALSE(std::filesystem::exists(run + "/checkpoints"));
  const std::string there = directory.path("there");
  std::filesystem::create_directory(there);
  { const RunLock of_the_user(config_in(there, there + "/checkpoints")); }
  EXPECT_TRUE(std::filesystem::exists(there)) << "it is the user's";
}

TEST(RunLock, ARefusedSecondRunLeavesNothingOfItsOwn) {
  const TempDirectory directory;
  const std::string shared = directory.path("shared");
  const RunLock first(config_in(directory.path("a"), shared));
  EXPECT_THROW(RunLock(config_in(directory.path("b"), shared), none), Error);
  EXPECT_FALSE(std::filesystem::exists(directory.path("b")));
  EXPECT_TRUE(std::filesystem::exists(shared + "/.lock"));
}

// The refused run removes the directory that it created, while another run waits for its lock.
TEST(RunLock, AWaitingSecondRunHoldsWhatARefusedOneLeaves) {
  const TempDirectory directory;
  const Config config = config_in(directory.path("a/run"), directory.path("a/run/checkpoints"));
  auto refused = std::make_unique<RunLock>(config);
  std::unique_ptr<RunLock> second;
  std::thread waiting([&] { second = std::make_unique<RunLock>(config, std::chrono::minutes(1)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  refused.reset();
  waiting.join();
  EXPECT_THAT(error_of([&] { RunLock third(config, none); }),
              HasSubstr("another run works in " + config.run.directory + " ("));
}

TEST(RunLock, ADirectoryThatCannotBeMadeIsNamed) {
  const TempDirectory directory;
  const std::string file = directory.file("file", "in the way");
  EXPECT_THAT(error_of([&] { RunLock(config_in(file + "/run", directory.path())); }),
              AllOf(HasSubstr("file/run"), HasSubstr("run.directory")));
}

TEST(RunLock, ADirectoryThatIsALinkToNothingIsNamed) {
  const TempDirectory directory;
  std::filesystem::create_symlink("/no/such/target", directory.path("link"));
  for (const char* below : {"", "/"})
    EXPECT_THAT(
        error_of([&] { RunLock(config_in(directory.path("link") + below, directory.path())); }),
        AllOf(HasSubstr("run.directory: " + directory.path("link")),
              HasSubstr("is a link to nothing (it leads to /no/such/target)")));
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path("link")));
}

// A run would train to its end before it read the record there.
TEST(RunLock, ADirectoryInThePlaceOfTheJobIsRefused) {
  const TempDirectory directory;
  for (const char* name : {"job.json", "metrics.jsonl"}) {
    std::filesystem::create_directory(directory.path(name));
    EXPECT_THAT(error_of([&] { RunLock(config_in(directory.path(), directory.path())); }),
                HasSubstr(directory.path(name) + " is a directory"));
    std::filesystem::remove(directory.path(name));
  }
}

}  // namespace
}  // namespace triax::test
