// SPDX-License-Identifier: Apache-2.0
// Rollback on a device: a loss spike is noticed while the next step runs, and that step is
// discarded.
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/device_jobs.hpp"
#include "tests/trainer/spike_job.hpp"

namespace triax::test {
namespace {

class RollbackOnDevice : public DeviceTest {};

// The step after the spike has other data, and has changed weights and moments when the run goes
// back.
TEST_F(RollbackOnDevice, IsTheRunThatWasNotGivenTheDataBetween) {
  const SharedDirectory directory;
  const auto run = [&](const std::string& name, const std::string& text) {
    auto job = on_device(spike_job(mixed_layout(), shared_file(directory, name + ".txt", text),
                                   directory.path(name)));
    job["run"]["steps"] = 12;
    train_to_the_end(job);
    return steps_of(directory.path(name));
  };
  const auto found = run("back", spike_text({9}));
  const auto expected = run("without", spike_text({9}, {8, 9}));
  ASSERT_EQ(expected.size(), 12U);
  expect_resumed(found, expected, 0, 0.0, 0.0);
  EXPECT_EQ(metrics_of(directory.path("back")).size(), 13U) << "and the rollback";
}

}  // namespace
}  // namespace triax::test
