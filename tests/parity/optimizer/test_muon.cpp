// SPDX-License-Identifier: Apache-2.0
// Muon on every grid: whole matrices are orthogonalised, however they are cut.
#include <gmock/gmock.h>

#include <algorithm>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/optimizer/run_to.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = 4;
// Relative tolerance of losses: gradients are summed in another order, and the iteration raises
// small singular values up to 480 times.
constexpr double tolerance = 5e-5;

nlohmann::json job_of(const std::string& name, const Layout& layout) {
  auto job = golden_job(read_golden(name), layout);
  job["optimizer"] = {{"type", "Muon"},
                      {"params", {{"lr", 2e-3}, {"adam_lr", 1e-3}, {"weight_decay", 0.1}}}};
  job["scheduler"]["params"]["min_lr"] = 0.0;
  return job;
}

std::vector<Layout> layouts() {
  std::vector<Layout> all = {{.tensor = 2, .micro = 1},
                             {.pipeline = 2, .micro = 1},
                             {.tensor = 2, .pipeline = 2, .micro = 1},
                             {.tensor = 4, .micro = 1},
                             {.tensor = 2, .data = 2, .micro = 1, .zero = 1},
                             {.tensor = 2, .data = 2, .micro = 1, .zero = 3, .persistence = 50}};
  for (const int zero : {0, 1, 2, 3})
    all.push_back({.data = world_size(), .micro = 1, .zero = zero});
  std::erase_if(all, [](const Layout& l) { return l.ranks() != world_size(); });
  return all;
}

// Messages and memory are those of the dry run.
void expect_as_planned(const LoadedJob& job, ProcessGrid& grid, Trainer& trainer,
                       const StepMetrics& step) {
  const JobPlan plan = plan_job(on_grid(job.config, grid));
  KindBytes listed = plan.memory.of(world_rank()).in_memory();
  listed.communication = 0;  // MPI's own memory is not in the plan
  EXPECT_EQ(by_kind(trainer.allocations(), plan.program), listed);
  EXPECT_EQ(stored_by_kind(trainer.allocations()), plan.memory.of(world_rank()).nvme);
  const auto planned = [&](Axis axis) {
    return static_cast<std::int64_t>(plan.messages.along(axis).total().bytes);
  };
  EXPECT_EQ(step.bytes_sent_data, planned(Axis::data));
  EXPECT_EQ(step.bytes_sent_tensor, planned(Axis::tensor));
  EXPECT_EQ(step.bytes_sent_pipeline, planned(Axis::pipeline));
}

std::vector<StepMetrics> trained(const nlohmann::json& text) {
  const LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  Trainer trainer(job, grid);
  std::vector<StepMetrics> metrics;
  for (std::int64_t step = 0; step < steps; ++step) metrics.push_back(trainer.train_step(step));
  expect_as_planned(job, grid, trainer, metrics.back());
  return metrics;
}

TEST(Muon, HasTheLossesOfOneRankOnEveryGrid) {
  for (const std::string name : {"llama-tiny", "gpt2-tiny", "phi3"}) {
    const auto alone = train(MPI_COMM_SELF, job_of(name, {.micro = 2}), steps);
    EXPECT_LT(alone.back().loss, alone.front().loss);
    for (const Layout& layout : layouts()) {
      if (!carries(read_golden(name), layout)) continue;
      SCOPED_TRACE(name + " " + layout.text());
      const auto found = trained(job_of(name, layout));
      for (std::size_t step = 0; step < found.size(); ++step)
        EXPECT_NEAR(found[step].loss, alone[step].loss, tolerance * alone[step].loss) << step;
    }
  }
}

TEST(Muon, OffloadToNvmeChangesNoBit) {
  const SharedDirectory directory;
  for (const char* type : {"f32", "bf16", "fp16"})
    for (const int zero : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} ZeRO-{}", type, zero));
      auto job =
          job_of("llama-tiny", {.data = world_size(), .micro = 1, .zero = zero, .type = type});
      if (job.contains("fp16")) job["fp16"]["initial_scale_power"] = 8;
      const auto expected = trained(job);
      EXPECT_LT(expected.back().loss, expected.front().loss);
      offload_optimizer(job, directory.path());
      expect_same_bits(trained(job), expected);
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

nlohmann::json with_average(nlohmann::json job) {
  job["run"]["ema"] = {{"decay", 0.9}};
  return job;
}

TEST(Muon, AResumeGoesOnWhereTheRunWas) {
  const SharedDirectory directory;
  const auto job =
      with_average(job_of("llama-tiny", {.data = world_size(), .micro = 1, .zero = 1}));
  const auto straight = run_to(4, job, directory.path("straight"), "");
  const std::string file = directory.path("straight/checkpoints/step-000002.h5");
  const auto same = run_to(4, job, directory.path("same"), file);
  const auto cut =
      run_to(4, with_average(job_of("llama-tiny", {.data = world_size(), .micro = 1, .zero = 3})),
             directory.path("cut"), file);
  const auto other = run_to(4,
                            with_average(job_of("llama-tiny", {.tensor = world_size() > 1 ? 2 : 1,
                                                               .data = world_size() > 2 ? 2 : 1,
                                                               .micro = 1})),
                            directory.path("other"), file);
  if (world_rank() != 0) return;
  expect_resumed(same, straight, 2, 0.0, 0.0);
  expect_resumed(cut, straight, 2, tolerance, 1e-3);
  expect_resumed(other, straight, 2, tolerance, 1e-3);
  const CheckpointReader reader(file);
  EXPECT_TRUE(reader.contains("/optimizer/momentum_buffer/model.layers.0.mlp.up_proj.weight"));
  EXPECT_FALSE(reader.contains("/optimizer/exp_avg/model.layers.0.mlp.up_proj.weight"));
  EXPECT_TRUE(reader.contains("/optimizer/exp_avg/model.norm.weight"));
  EXPECT_FALSE(reader.contains("/optimizer/momentum_buffer/model.norm.weight"));
  EXPECT_TRUE(reader.contains("/average/model.norm.weight"));
}

// Moments carry over where both optimizers have them; those of matrices begin anew.
TEST(Muon, OtherOptimizersGoOnFromIt) {
  const SharedDirectory directory;
  const Layout layout{.data = world_size(), .micro = 1, .zero = 1};
  run_to(2, job_of("llama-tiny", layout), directory.path("muon"), "");
  const std::string file = directory.path("muon/checkpoints/step-000002.h5");
  auto job = job_of("llama-tiny", layout);
  job["optimizer"] = {{"type", "AdamW"}, {"params", {{"lr", 1e-3}}}};
  const auto adamw = run_to(4, job, directory.path("adamw"), file);
  const TensorStarts starts = tensor_starts_of(
      CheckpointReader(file), load(job, world_size()).config.model, states_of({}), 2);
  EXPECT_EQ(starts.at("model.layers.0.mlp.up_proj.weight"), 2);
  EXPECT_FALSE(starts.contains("model.norm.weight"));
  run_to(6, job_of("llama-tiny", layout), directory.path("back"),
         directory.path("adamw/checkpoints/step-000004.h5"));
  if (world_rank() != 0) return;
  ASSERT_EQ(adamw.size(), 2U);
  EXPECT_LT(adamw.back()["loss"].get<double>(), adamw.front()["loss"].get<double>());
}

// Without trained matrices it is AdamW, and sends nothing for directions.
TEST(Muon, WithFrozenMatricesIsAdamW) {
  const Layout layout{.data = world_size(), .micro = 1, .zero = 1};
  auto muon = job_of("llama-tiny", layout), adamw = muon;
  adamw["optimizer"] = {{"type", "AdamW"}, {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}}}};
  for (auto* job : {&muon, &adamw})
    (*job)["train_only"] = {"*norm*", "model.embed_tokens.*", "lm_head.*"};
  const auto found = trained(muon), expected = trained(adamw);
  for (std::size_t step = 0; step < found.size(); ++step) {
    EXPECT_NEAR(found[step].loss, expected[step].loss, 1e-6 * expected[step].loss);
    EXPECT_EQ(found[step].bytes_sent_data, expected[step].bytes_sent_data);
  }
}

}  // namespace
}  // namespace triax::test
