// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/launch/run_directory.hpp"
#include "tests/io/checkpoint_fixtures.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

TEST(CheckpointToResume, IsTheSameOnEveryRank) {
  const SharedDirectory directory;
  const std::string path = checkpoint_path(directory.path(), 5);
  if (world_rank() == 0) write_example(path, {{"/model/a", DType::f32, {1}}}, {{1.0F}});
  Config config;
  config.parallel.data = world_size();
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, config);
  EXPECT_EQ(checkpoint_to_resume(grid, {directory.path(), 0, 3, "auto", true}).value().path(),
            path);
  EXPECT_FALSE(checkpoint_to_resume(grid, {directory.path("none"), 0, 3, "auto", true}));
  EXPECT_THROW(checkpoint_to_resume(grid, {directory.path("none"), 0, 3, "must", true}),
               UsageError);
  if (world_rank() == 0) std::filesystem::resize_file(path, 500);
  try {
    checkpoint_to_resume(grid, {directory.path(), 0, 3, "auto", true});
    ADD_FAILURE() << "a truncated file was taken";
  } catch (const UsageError&) {
    ADD_FAILURE() << "the file's failure is not the job's";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("step-000005.h5"));
  }
}

}  // namespace
}  // namespace triax::test
