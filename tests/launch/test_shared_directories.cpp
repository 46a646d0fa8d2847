// SPDX-License-Identifier: Apache-2.0
#include "src/launch/shared_directories.hpp"

#include <numeric>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SharedDirectories : public testing::Test {
 protected:
  SharedDirectories() {
    config_.parallel.data = world_size();
    config_.run.directory = directory_.path("run");
    config_.checkpoint.directory = directory_.path("run/checkpoints");
    if (world_rank() == 0)
      for (const char* name : {"run", "run/checkpoints", "other"})
        std::filesystem::create_directory(directory_.path(name));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  bool last() const { return world_rank() == world_size() - 1; }
  // Text of the UsageError with one node for all ranks or one rank per node; empty: none.
  std::string refusal(bool one_node, double patience = 0.3) const {
    std::vector<int> nodes(static_cast<std::size_t>(world_size()));
    for (std::size_t r = 0; r < nodes.size(); ++r) nodes[r] = one_node ? 0 : static_cast<int>(r);
    const ProcessGrid grid(MPI_COMM_WORLD, grid_shape(config_.parallel), nodes);
    try {
      check_directories_shared(grid, config_, patience);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }
  SharedDirectory directory_;
  Config config_;
};

TEST_F(SharedDirectories, AreNoErrorAndKeepNothing) {
  EXPECT_EQ(refusal(false), "");
  MPI_Barrier(MPI_COMM_WORLD);
  for (const char* name : {"run/checkpoints", "other"})
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path(name)));
}

TEST_F(SharedDirectories, ARunsDirectoryOfANodeOfItsOwnIsRefused) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  if (last()) config_.run.directory = directory_.path("other");
  EXPECT_THAT(
      refusal(false),
      AllOf(HasSubstr("rank " + std::to_string(world_size() - 1) + ": run.directory is not"),
            HasSubstr("not found in " + directory_.path("other")), HasSubstr("0.3 s")));
}

TEST_F(SharedDirectories, SoIsOneOfARankOfTheSameNode) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  if (last()) config_.run.directory = directory_.path("none");
  EXPECT_THAT(refusal(true), HasSubstr("run.directory is not the same directory here"));
}

TEST_F(SharedDirectories, SoAreCheckpoints) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  if (last()) config_.checkpoint.directory = directory_.path("other");
  EXPECT_THAT(refusal(false), HasSubstr("checkpoint.directory is not the same directory here"));
}

// The case of a node whose file system shows an older state for a while.
TEST_F(SharedDirectories, MayBeSeenLate) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no other";
  const std::string link = directory_.path("link");
  if (last()) config_.run.directory = link;
  std::thread later;
  if (last())
    later = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      std::filesystem::create_directory_symlink(directory_.path("run"), link);
    });
  EXPECT_EQ(refusal(false, 60.0), "");
  if (last()) later.join();
}

// As triax doctor finds it: on nodes with one rank each, the last one has another directory.
TEST_F(SharedDirectories, ANodeThatDoesNotSeeTheFileOfRank0KnowsIt) {
  std::vector<int> nodes(static_cast<std::size_t>(world_size()));
  std::iota(nodes.begin(), nodes.end(), 0);
  const ProcessGrid grid(MPI_COMM_WORLD, grid_shape(config_.parallel), nodes);
  EXPECT_TRUE(sees_file_of_rank0(grid, config_.run.directory, 0.3));
  const bool blind = last() && world_size() > 1;
  EXPECT_EQ(sees_file_of_rank0(grid, blind ? directory_.path("other") : config_.run.directory, 0.3),
            !blind);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path("run/checkpoints")));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path("other")));
}

}  // namespace
}  // namespace triax::test
