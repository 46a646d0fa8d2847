// SPDX-License-Identifier: Apache-2.0
// Memory of the model's state on a rank after training, measured: the bytes per parameter of
// Rajbhandari et al. 2020 (ZeRO), plus what the dry run lists and no more.
#include <gtest/gtest.h>

#include "src/forecast/memory_check.hpp"
#include "src/forecast/plan_size.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

// Large enough that padding (each shard is a whole number of cache lines) hardly counts.
nlohmann::json job_of(int stage, bool wide_gradients) {
  auto job = golden_job(read_golden("gpt2-tiny"),
                        {.data = world_size(), .micro = 1, .zero = stage, .type = "bf16"});
  job["model"] = {{"architecture", "gpt2"}, {"n_layer", 4},      {"n_head", 4},
                  {"n_embd", 128},          {"n_positions", 64}, {"vocab_size", 1024}};
  job["data"]["seq_length"] = 16;
  if (wide_gradients) job["data_types"] = {{"grad_accum_dtype", "fp32"}};
  return job;
}

// Bytes per parameter with ZeRO stage `n` over `ranks` ranks: 2 of weights, 2 of gradients (4 in
// float32), and 12 of master weights and moments.
double model_bytes(int stage, bool wide_gradients, double ranks) {
  const double weights = stage >= 3 ? 2.0 / ranks : 2.0;
  const double gradients = (wide_gradients ? 4.0 : 2.0) / (stage >= 2 ? ranks : 1.0);
  return weights + gradients + 12.0 / (stage >= 1 ? ranks : 1.0);
}

TEST(ModelState, IsSixteenBytesAParameterCutByStage) {
  for (const bool wide_gradients : {false, true})
    for (const int stage : {0, 1, 2, 3}) {
      SCOPED_TRACE(
          fmt::format("stage {}, gradients in {}", stage, wide_gradients ? "float32" : "bfloat16"));
      const LoadedJob job = load(job_of(stage, wide_gradients), world_size());
      ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
      const JobPlan plan = plan_job(on_grid(job.config, grid));
      Trainer trainer(job, grid);
      trainer.train_step(0);
      const Allocations held = trainer.allocations();
      const auto state = static_cast<double>(held.state.parameters + held.state.gradients +
                                             held.optimizer.master + held.optimizer.moments);
      const double expected =
          count_parameters(job.config.model) * model_bytes(stage, wide_gradients, world_size());
      EXPECT_NEAR(state, expected, 0.01 * expected);
      KindBytes listed = plan.memory.of(world_rank()).in_memory();
      listed.communication = 0;  // MPI's own memory is not in the plan
      EXPECT_EQ(by_kind(held, plan.program), listed);
    }
}

TEST(ModelState, IsWhatTheAuthorsWrite) {
  for (const double n : {1.0, 2.0, 8.0}) {
    EXPECT_DOUBLE_EQ(model_bytes(0, false, n), 16.0);
    EXPECT_DOUBLE_EQ(model_bytes(0, true, n), 18.0);
    EXPECT_DOUBLE_EQ(model_bytes(1, false, n), 4.0 + 12.0 / n);
    EXPECT_DOUBLE_EQ(model_bytes(2, false, n), 2.0 + 14.0 / n);
    EXPECT_DOUBLE_EQ(model_bytes(3, false, n), 16.0 / n);
  }
}

}  // namespace
}  // namespace triax::test
