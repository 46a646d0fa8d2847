// SPDX-License-Identifier: Apache-2.0
// Steps whose loss or gradient is not finite: skipped on all ranks, explained, counted.
#include "src/executor/non_finite.hpp"

#include <cmath>
#include <filesystem>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Layout layout() {
  if (world_size() == 4) return {.pipeline = 2, .data = 2, .micro = 2, .zero = 1};
  if (world_size() == 2) return {.tensor = 2, .micro = 2};
  return {.micro = 2};
}

// A job whose fourth step is finite and leaves weights with which no later step is.
nlohmann::json diverging_job(const std::string& directory) {
  auto job = golden_job(read_golden("gpt2-tiny"), layout());
  job["optimizer"]["params"].erase("lr");
  job["scheduler"] = {{"type", "LRRangeTest"},
                      {"params",
                       {{"lr_range_test_min_lr", 1e-3},
                        {"lr_range_test_step_size", 3},
                        {"lr_range_test_step_rate", 1e23},
                        {"lr_range_test_staircase", true}}}};
  job["run"]["directory"] = directory;
  job["run"]["steps"] = 8;
  job["run"]["max_bad_steps"] = 1;
  return job;
}

TEST(NonFinite, TheRunStopsWithTheCheckpointFromBeforeTheBadSteps) {
  const SharedDirectory directory;
  auto job = diverging_job(directory.path());
  job["checkpoint"] = {{"interval", 100}};
  EXPECT_THAT(error_of([&] { train_to_the_end(job); }),
              AllOf(HasSubstr("2 steps in a row, from step 5 on"), HasSubstr("learning rate")));
  MPI_Barrier(MPI_COMM_WORLD);
  const auto lines = metrics_of(directory.path());
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_FALSE(lines[3].contains("skipped"));
  EXPECT_EQ(lines[4]["skipped"], true);
  EXPECT_EQ(lines[5]["skipped"], true);
  const CheckpointReader good(directory.path("checkpoints/step-000004.h5"));
  EXPECT_EQ(good.header().step, 4);
  EXPECT_EQ(good.header().loss_scale, "") << "no step was skipped before it";
  EXPECT_FALSE(std::filesystem::exists(directory.path("checkpoints/step-000006.h5")));
}

struct OpenRun {
  LoadedJob job;
  ProcessGrid grid;
  Trainer trainer;
  OpenRun()
      : job(load(golden_job(read_golden("gpt2-tiny"), layout()), world_size())),
        grid(make_grid(MPI_COMM_WORLD, job.config)),
        trainer(job, grid) {}
  float& a_weight() { return trainer.store().weights(0).data.as<float>()[0]; }
};

TEST(NonFinite, ASkippedStepChangesNothingOnAnyRank) {
  OpenRun run;
  run.trainer.train_step(0);
  const bool poisoned = world_rank() == 0;  // the other ranks learn of it from the norm
  const float good = run.a_weight();
  const GlobalValues before = collect(run.grid, run.job.config.model, run.trainer.store(),
                                      first_moments_of(run.trainer.optimizer()));
  if (poisoned) run.a_weight() = NAN;
  const StepMetrics bad = run.trainer.train_step(1);
  EXPECT_TRUE(bad.skipped);
  EXPECT_FALSE(std::isfinite(bad.grad_norm));
  run.a_weight() = good;  // with ZeRO, weights are gathered after a skipped step too
  EXPECT_EQ(collect(run.grid, run.job.config.model, run.trainer.store(),
                    first_moments_of(run.trainer.optimizer())),
            before);
  const StepMetrics next = run.trainer.train_step(2);
  EXPECT_FALSE(next.skipped);
  EXPECT_TRUE(std::isfinite(next.loss));
}

TEST(NonFinite, TheFirstOfAllRanksIsFound) {
  OpenRun run;
  const Stream stream;
  const int last = world_size() - 1;
  const std::vector<float> bad = {1.0F, world_rank() == last ? INFINITY : 2.0F};
  const std::vector<float> good = {1.0F, 2.0F};
  const auto view = [](const std::vector<float>& values) {
    return Tensor(const_cast<float*>(values.data()), {2});
  };
  const FiniteTest finite(MemorySpace::host, run.grid);
  NonFiniteSearch search(finite);
  search.forward(stream, 0, 0, "embedding", view(good));
  EXPECT_THAT(search.first(run.grid), HasSubstr("no layer"));
  search.backward(stream, 0, 1, "block 0", view(bad));
  search.backward(stream, 0, 2, "block 1", view(bad));
  EXPECT_THAT(search.first(run.grid),
              AllOf(HasSubstr("the gradient of the input of block 1, on rank"),
                    HasSubstr("rank " + std::to_string(last))));
  search.forward(stream, 0, 3, "block 2", view(bad));
  search.forward(stream, 0, 2, "block 1", view(bad));
  search.forward(stream, 0, 2, "block 1", Tensor{});
  EXPECT_THAT(search.first(run.grid), HasSubstr("the output of block 1"));
}

TEST(NonFinite, WeightsThatAreNotFiniteAreFound) {
  OpenRun run;
  auto& store = const_cast<ParameterStore&>(run.trainer.store());
  const FiniteTest finite(MemorySpace::host, run.grid);
  EXPECT_TRUE(finite_weights(finite, Stream{}, store, run.grid));
  if (world_rank() == world_size() - 1) run.a_weight() = NAN;
  EXPECT_FALSE(finite_weights(finite, Stream{}, store, run.grid));
}

}  // namespace
}  // namespace triax::test
