// SPDX-License-Identifier: Apache-2.0
// Ends of a run on a signal or the clock, with the files from which the same command continues.
#include "tests/trainer/run_ends.hpp"

namespace triax::test {
namespace {

TEST_F(RunEnds, AStopWithoutACheckpointToGoOnFromIsAFailure) {
  auto bad = job("run", 100);
  bad["fp16"] = {{"enabled", true}, {"loss_scale", 1e30}};  // no step is finite
  bad["run"]["max_bad_steps"] = 100;
  EXPECT_THAT(error_of([&] { signalled(bad, SIGUSR1); }),
              AllOf(HasSubstr("stopped by SIGUSR1 after 1 of 100 steps without a checkpoint"),
                    HasSubstr("not finite")));
}

TEST_F(RunEnds, AStopAmidBadStepsBehindACheckpointIsAStop) {
  train_to_the_end(job("run", 2));
  auto bad = job("run", 100);
  bad["fp16"] = {{"enabled", true}, {"loss_scale", 1e30}};
  EXPECT_EQ(signalled(bad, SIGUSR1), RunEnd::stopped);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000002.h5"));
}

// Like the walltime, run.time_limit includes the time of the start.
TEST_F(RunEnds, TheTimeOfAJobCountsFromTheStartOfItsProgram) {
  auto limited = job("run", 2);
  limited["run"].update({{"time_limit", "1h"}, {"stop_before_end", "10m"}});
  const LoadedJob loaded = load(limited, 1);
  ProcessGrid grid = make_grid(MPI_COMM_SELF, loaded.config);
  Trainer trainer(loaded, grid);
  const auto now = RunRequests::Clock::now();
  EXPECT_EQ(trainer.run(now - std::chrono::minutes(49)), RunEnd::done);
  limited["run"]["directory"] = directory_.path("late");
  const LoadedJob again = load(limited, 1);
  Trainer late(again, grid);  // start-up took nearly all of its time: it makes one step at least
  EXPECT_EQ(late.run(now - std::chrono::minutes(51)), RunEnd::stopped);
  EXPECT_THAT(checkpoints("late"), ElementsAre("step-000001.h5"));
}

// Signals request checkpoints even if the job has none.
TEST_F(RunEnds, AnotherRunsCheckpointsAreNeitherAddedToNorPruned) {
  auto first = job("a", 3);
  first["checkpoint"] = {{"interval", 1}};
  train_to_the_end(first);
  auto second = job("b", 6);
  second["checkpoint"] = {{"directory", directory_.path("a/checkpoints")},
                          {"interval", 0},
                          {"at_end", false},
                          {"keep", 1}};
  EXPECT_THAT(error_of([&] { signalled(second, SIGUSR1); }),
              AllOf(HasSubstr("stopped by SIGUSR1 after 4 of 6 steps without a checkpoint"),
                    HasSubstr("a/checkpoints lies outside run.directory")));
  EXPECT_EQ(signalled(second, SIGUSR2), RunEnd::done);
  EXPECT_THAT(checkpoints("a"), ElementsAre("step-000003.h5", "step-000002.h5", "step-000001.h5"));
}

// A checkpoint that is due by interval or was requested is written after the last step too.
TEST_F(RunEnds, TheLastStepsCheckpointComesAlsoWithoutAtEnd) {
  auto regular = job("run", 4);
  regular["checkpoint"] = {{"interval", 2}, {"at_end", false}};
  train_to_the_end(regular);
  EXPECT_THAT(checkpoints("run"), ElementsAre("step-000004.h5", "step-000002.h5"));
  for (const int signal : {SIGUSR1, SIGUSR2}) {
    const std::string run = std::to_string(signal);
    auto asked = job(run, 1);
    asked["checkpoint"] = {{"at_end", false}};
    EXPECT_EQ(signalled(asked, signal), RunEnd::done);
    EXPECT_THAT(checkpoints(run), ElementsAre("step-000001.h5"));
  }
  auto neither = job("neither", 3);
  neither["checkpoint"] = {{"interval", 2}, {"at_end", false}};
  train_to_the_end(neither);
  EXPECT_THAT(checkpoints("neither"), ElementsAre("step-000002.h5"));
}

}  // namespace
}  // namespace triax::test
