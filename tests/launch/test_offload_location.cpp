// SPDX-License-Identifier: Apache-2.0
#include "src/launch/offload_location.hpp"

#include "tests/io/fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::HasSubstr;

PlacedConfig offloaded_in(const std::string& directory, const std::string& run) {
  PlacedConfig config = golden_config({.micro = 2});
  config.run.directory = run;
  config.zero.offload_param.device = OffloadDevice::nvme;
  config.zero.offload_param.nvme_path = directory;
  return config;
}

TEST(RemoveLeftOffload, TakesTheFilesOfItsRunOfAnyRank) {
  const TempDirectory directory;
  const PlacedConfig config = offloaded_in(directory.path(), "runs/a");
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  const std::string own = parameters_on(grid, config).location.path;
  std::string far = own;
  ASSERT_THAT(own, HasSubstr("-rank-0-"));
  far.replace(far.find("-rank-0-"), 8, "-rank-7-");
  const std::string other =
      parameters_on(grid, offloaded_in(directory.path(), "runs/b")).location.path;
  for (const std::string& path : {own, far, other}) std::ofstream(path) << "left";
  Config in_memory = config;
  in_memory.zero.offload_param.device = OffloadDevice::none;
  remove_left_offload(grid, in_memory);
  EXPECT_TRUE(std::filesystem::exists(far)) << "a directory that this job does not use";
  remove_left_offload(grid, config);
  EXPECT_FALSE(std::filesystem::exists(own));
  EXPECT_FALSE(std::filesystem::exists(far));
  EXPECT_TRUE(std::filesystem::exists(other));
}

TEST(RemoveLeftOffload, KnowsADirectoryByItsLinks) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path("runs/a"));
  std::filesystem::create_symlink(directory.path("runs"), directory.path("link"));
  const auto file_of = [&](const std::string& run) {
    const PlacedConfig config = offloaded_in(directory.path(), directory.path(run));
    return parameters_on(make_grid(MPI_COMM_WORLD, config), config).location.path;
  };
  EXPECT_EQ(file_of("link/a"), file_of("runs/a"));
  EXPECT_EQ(file_of("link/../runs/a"), file_of("runs/a"));
  EXPECT_NE(file_of("runs/b"), file_of("runs/a"));
  std::filesystem::create_directories(directory.path("runs/a/deep"));
  std::filesystem::create_symlink(directory.path("runs/a/deep"), directory.path("deep"));
  EXPECT_EQ(file_of("deep/.."), file_of("runs/a"));
}

}  // namespace
}  // namespace triax::test
