// SPDX-License-Identifier: Apache-2.0
// Runs on the emulated device, which executes its work when it is waited for.
#include "src/executor/run_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_jobs.hpp"
#include "tests/support/emulator/emulated_device.hpp"

namespace triax::test {
namespace {

TEST(RunAhead, TheHostIsSoFarAheadAndNoFurther) {
  const Stream stream(MemorySpace::device);
  RunAhead ahead(wait_alone);
  int done = 0;
  for (int launched = 1; launched <= 100; ++launched) {
    cuda::emulator::enqueue(stream, [&] { ++done; });
    ahead.behind(launched % 2 == 0 ? OpKind::Backward : OpKind::Step, stream);
    ahead.behind(OpKind::ReduceStart, stream);  // not counted
    ASSERT_LE(launched - done, RunAhead::most) << launched;
    ASSERT_LE(done, std::max(0, launched - RunAhead::least)) << launched;
  }
  stream.synchronize();
}

// Plan position of the first wait for earlier work in a step.
int first_wait_of_a_step(Trainer& trainer, ProcessGrid& grid) {
  std::optional<int> position;
  cuda::emulator::enqueue_when(trainer.stream().handle(),
                               [&] {
                                 if (!position) position = grid.board().seen({}).front().position;
                                 return true;
                               },
                               {});
  trainer.train_step(0);
  return position.value();
}

TEST(RunAhead, AStepWaitsForTheDeviceOnItsWay) {
  const LoadedJob job =
      load(on_device(golden_job(read_golden("gpt2-tiny"), {.micro = 1})), world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  Trainer trainer(job, grid);
  const auto computes = [&](int end) {
    return std::count_if(trainer.plan().begin(), trainer.plan().begin() + end,
                         [](const Op& op) { return group_of(op.kind) == OpGroup::compute; });
  };
  ASSERT_GT(computes(static_cast<int>(trainer.plan().size())), 2 * RunAhead::most);
  EXPECT_EQ(computes(first_wait_of_a_step(trainer, grid) + 1), RunAhead::most);
}

}  // namespace
}  // namespace triax::test
