// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_directory.hpp"
#include "tests/io/fixtures.hpp"

namespace triax {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(CheckpointPath, HasTheStepInSixDigits) {
  EXPECT_EQ(checkpoint_path("a/b", 50), "a/b/step-000050.h5");
  EXPECT_EQ(checkpoint_path("a", 12345678), "a/step-12345678.h5");
}

class CheckpointDirectory : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"step-000005.h5", "step-1000000.h5", "step-000040.h5", "step-000050.h5.tmp", "step-.h5",
          "step-12x.h5", "best.h5", "step-99999999999999999999.h5"})
      dir_.file(name, "x");
    std::filesystem::create_directory(dir_.path("step-000070.h5"));
  }
  TempDirectory dir_;
};

TEST_F(CheckpointDirectory, ListsPublishedFilesNewestFirst) {
  EXPECT_THAT(list_checkpoints(dir_.path()),
              ElementsAre(dir_.path("step-1000000.h5"), dir_.path("step-000040.h5"),
                          dir_.path("step-000005.h5")));
  EXPECT_THAT(list_checkpoints(dir_.path("absent")), ElementsAre());
  EXPECT_THAT(error_of([&] { list_checkpoints(dir_.path("best.h5")); }), HasSubstr("best.h5"));
}

TEST_F(CheckpointDirectory, PrunesTheOldestOnly) {
  prune_checkpoints(dir_.path(), 0);
  EXPECT_EQ(list_checkpoints(dir_.path()).size(), 3u);
  prune_checkpoints(dir_.path(), 2);
  EXPECT_THAT(list_checkpoints(dir_.path()),
              ElementsAre(dir_.path("step-1000000.h5"), dir_.path("step-000040.h5")));
  prune_checkpoints(dir_.path(), 1);
  prune_checkpoints(dir_.path(), 1);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(dir_.path("step-1000000.h5")));
  EXPECT_TRUE(std::filesystem::exists(dir_.path("best.h5")));
  EXPECT_TRUE(std::filesystem::exists(dir_.path("step-000050.h5.tmp")));
  prune_checkpoints(dir_.path("absent"), 1);
  EXPECT_FALSE(std::filesystem::exists(dir_.path("absent")));
}

TEST_F(CheckpointDirectory, RemovesWhatWasNotFinished) {
  dir_.file("best.h5.tmp", "x");
  EXPECT_THAT(remove_unfinished(dir_.path()), ElementsAre(dir_.path("step-000050.h5.tmp")));
  EXPECT_FALSE(std::filesystem::exists(dir_.path("step-000050.h5.tmp")));
  EXPECT_TRUE(std::filesystem::exists(dir_.path("best.h5.tmp")));
  EXPECT_EQ(list_checkpoints(dir_.path()).size(), 3u);
  EXPECT_THAT(remove_unfinished(dir_.path()), ElementsAre());
  EXPECT_THAT(remove_unfinished(dir_.path("absent")), ElementsAre());
}

TEST_F(CheckpointDirectory, SetsLaterFilesOfAnotherRunAside) {
  EXPECT_THAT(set_aside_later(dir_.path(), 40), ElementsAre(dir_.path("step-1000000.h5")));
  EXPECT_TRUE(std::filesystem::exists(dir_.path("step-1000000.h5.superseded")));
  EXPECT_THAT(list_checkpoints(dir_.path()),
              ElementsAre(dir_.path("step-000040.h5"), dir_.path("step-000005.h5")));
  EXPECT_THAT(set_aside_later(dir_.path(), 40), ElementsAre());
  // A second file of the same name gets a number.
  dir_.file("step-1000000.h5", "other");
  EXPECT_THAT(set_aside_later(dir_.path(), 40), SizeIs(1));
  EXPECT_EQ(contents(dir_.path("step-1000000.h5.superseded-1")), "other");
  const std::vector<CheckpointPath> found = find_checkpoints(dir_.path());
  EXPECT_EQ(std::ranges::count(found, CheckpointState::superseded, &CheckpointPath::state), 2);
}

// The disk of a link's target may be mounted again later.
TEST_F(CheckpointDirectory, ALinkThatLeadsNowhereIsNotReplaced) {
  const std::string link = dir_.path("step-000060.h5");
  std::filesystem::create_symlink(dir_.path("elsewhere.h5"), link);
  EXPECT_THAT(list_checkpoints(dir_.path()), testing::Contains(link));
  for (const char* name : {"step-000060.h5.superseded", "step-000060.h5.superseded-1"}) {
    EXPECT_THAT(set_aside_later(dir_.path(), 50), testing::Contains(link));
    EXPECT_EQ(std::filesystem::read_symlink(dir_.path(name)), dir_.path("elsewhere.h5"));
    std::filesystem::create_symlink(dir_.path("elsewhere.h5"), link);
  }
}

// A dangling link is neither counted among the kept files nor removed.
TEST_F(CheckpointDirectory, ALinkThatLeadsNowhereTakesNoPlaceOfTheNewest) {
  const std::string newest = dir_.path("step-2000000.h5"), oldest = dir_.path("step-000001.h5");
  for (const std::string& link : {newest, oldest})
    std::filesystem::create_symlink(dir_.path("elsewhere.h5"), link);
  prune_checkpoints(dir_.path(), 2);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, dir_.path("step-1000000.h5"),
                                                         dir_.path("step-000040.h5"), oldest));
}

TEST_F(CheckpointDirectory, TheNewestSoundOneStaysBesideThoseThatAreKept) {
  const std::string newest = dir_.path("step-1000000.h5"), middle = dir_.path("step-000040.h5"),
                    oldest = dir_.path("step-000005.h5");
  EXPECT_EQ(prune_checkpoints(dir_.path(), 2, 40), "") << "it is one of the two";
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, middle));
  EXPECT_EQ(prune_checkpoints(dir_.path(), 1, 999999), middle);
  EXPECT_EQ(prune_checkpoints(dir_.path(), 1, 40), middle);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, middle));
  dir_.file("step-000005.h5", "x");
  EXPECT_EQ(prune_checkpoints(dir_.path(), 1, 39), oldest);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, oldest));
  EXPECT_EQ(prune_checkpoints(dir_.path(), 1, 4), "") << "there is none";
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest));
}

TEST_F(CheckpointDirectory, TheBestOneStays) {
  const std::string newest = dir_.path("step-1000000.h5"), middle = dir_.path("step-000040.h5"),
                    best = dir_.path("step-000005.h5");
  EXPECT_EQ(prune_checkpoints(dir_.path(), 1, 40, 5), middle);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, middle, best));
  prune_checkpoints(dir_.path(), 2, 999999999, 5);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, middle, best));
  prune_checkpoints(dir_.path(), 1, 999999999, 40);
  EXPECT_THAT(list_checkpoints(dir_.path()), ElementsAre(newest, middle));
}

}  // namespace
}  // namespace triax
