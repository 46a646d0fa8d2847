// SPDX-License-Identifier: Apache-2.0
// Every optimizer on every grid: sharding, offload and a resume give the losses of one rank, and a
// rank holds what the dry run lists.
#include <gmock/gmock.h>

#include <algorithm>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/optimizer_states.hpp"
#include "src/state/optimizer/packed_states.hpp"
#include "tests/io/rank_fixtures.hpp"
#include "tests/parity/optimizer/run_to.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t steps = 4;
// Relative tolerance of losses: sums of gradients have another order, and Lion takes their sign.
constexpr double tolerance = 1e-5;

struct Case {
  const char* name;
  nlohmann::json optimizer;
  double across_tensor_ranks = tolerance;  // tolerance where another tensor size cuts other cells
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"AdamW", {{"type", "AdamW"}, {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}}}}},
      {"Adam",
       {{"type", "Adam"},
        {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}, {"adam_w_mode", false}}}}},
      {"AdamW8bit",
       {{"type", "AdamW8bit"}, {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}}}},
       1e-3},
      {"GroupsOf8bit",
       {{"type", "AdamW8bit"},
        {"params", {{"lr", 1e-3}}},
        {"groups",
         {{{"match", "*.gate_proj.weight"}, {"lr", 5e-4}},
          {{"match", "*.k_proj.weight"}, {"lr", 5e-4}},
          {{"match", "*norm*"}, {"lr", 2e-3}, {"weight_decay", 0.1}}}}},
       1e-3},
      {"Lion", {{"type", "Lion"}, {"params", {{"lr", 1e-4}, {"weight_decay", 0.1}}}}},
      {"SGD", {{"type", "SGD"}, {"params", {{"lr", 0.1}}}}},
      {"Adan", {{"type", "Adan"}, {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}}}}},
      {"Momentum", {{"type", "SGD"}, {"params", {{"lr", 0.05}, {"momentum", 0.9}}}}},
      {"Adagrad", {{"type", "Adagrad"}, {"params", {{"lr", 1e-3}}}}},
      {"Groups",
       {{"type", "Lion"},
        {"params", {{"lr", 1e-4}}},
        {"groups",
         {{{"match", "*.k_proj.weight"}, {"lr", 5e-5}},
          {{"match", "*norm*"}, {"lr", 2e-4}, {"weight_decay", 0.1}}}}}}};
  return all;
}

nlohmann::json job_of(const Case& of, const Layout& layout) {
  auto job = golden_job(read_golden("llama-tiny"), layout);
  job["optimizer"] = of.optimizer;
  job["scheduler"]["params"]["min_lr"] = 0.0;  // rates here are lower than the case's
  return job;
}

class Optimizers : public testing::TestWithParam<Case> {};
void PrintTo(const Case& of, std::ostream* out) {
  *out << of.optimizer;
}

// A rank's bytes are those of the dry run, and the state has its size.
void expect_as_planned(const LoadedJob& job, ProcessGrid& grid, const Trainer& trainer) {
  const JobPlan plan = plan_job(on_grid(job.config, grid));
  const Allocations held = trainer.allocations();
  KindBytes listed = plan.memory.of(world_rank()).in_memory();
  listed.communication = 0;  // MPI's own memory is not in the plan
  EXPECT_EQ(by_kind(held, plan.program), listed);
  EXPECT_EQ(stored_by_kind(held), plan.memory.of(world_rank()).nvme);
  std::int64_t least = 0;
  for (const ParameterBlock& block : trainer.store().blocks())
    for (const StateKind& state : states_of(job.config.optimizer))
      if (has_state(state, block))
        least += block.stepped.count() * static_cast<std::int64_t>(size_of(state.type));
  const std::int64_t moments = held.optimizer.moments + held.optimizer.stored_moments;
  EXPECT_GE(moments, least);
  EXPECT_EQ(moments > 0, least > 0);
}

// Steps of the job over all ranks, which hold what was planned.
std::vector<StepMetrics> trained(const nlohmann::json& text) {
  const LoadedJob job = load(text, world_size());
  ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
  Trainer trainer(job, grid);
  std::vector<StepMetrics> metrics;
  for (std::int64_t step = 0; step < steps; ++step) metrics.push_back(trainer.train_step(step));
  expect_as_planned(job, grid, trainer);
  return metrics;
}

void expect_close(const std::vector<StepMetrics>& found, const std::vector<StepMetrics>& expected,
                  double within = tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t step = 0; step < found.size(); ++step)
    EXPECT_NEAR(found[step].loss, expected[step].loss, within * expected[step].loss)
        << "step " << step;
}

TEST_P(Optimizers, EveryShardingHasTheLossesOfOneRank) {
  const auto alone = train(MPI_COMM_SELF, job_of(GetParam(), {.micro = 2}), steps);
  EXPECT_LT(alone.back().loss, alone.front().loss);
  for (const int zero : {0, 1, 2, 3}) {
    SCOPED_TRACE(zero);
    expect_close(trained(job_of(GetParam(), {.data = world_size(), .micro = 1, .zero = zero})),
                 alone);
  }
  if (world_size() == 4)
    expect_close(trained(job_of(GetParam(), {.tensor = 2, .pipeline = 2, .micro = 1})), alone,
                 GetParam().across_tensor_ranks);
}

TEST_P(Optimizers, OffloadToNvmeChangesNoBit) {
  const SharedDirectory directory;
  for (const char* type : {"f32", "bf16"})
    for (const int zero : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} ZeRO-{}", type, zero));
      auto job = job_of(GetParam(), {.data = world_size(), .micro = 1, .zero = zero, .type = type});
      const auto expected = trained(job);
      offload_optimizer(job, directory.path());
      expect_same_bits(trained(job), expected);
      MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST_P(Optimizers, AResumeGoesOnWhereTheRunWas) {
  const SharedDirectory directory;
  const auto job = job_of(GetParam(), {.data = world_size(), .micro = 1, .zero = 1});
  const auto straight = run_to(4, job, directory.path("straight"), "");
  const std::string file = directory.path("straight/checkpoints/step-000002.h5");
  const auto same = run_to(4, job, directory.path("same"), file);
  const auto cut = run_to(4, job_of(GetParam(), {.data = world_size(), .micro = 1, .zero = 3}),
                          directory.path("cut"), file);
  const auto other = run_to(
      4,
      job_of(GetParam(),
             {.tensor = world_size() > 1 ? 2 : 1, .data = world_size() > 2 ? 2 : 1, .micro = 1}),
      directory.path("other"), file);
  if (world_rank() != 0) return;
  expect_resumed(same, straight, 2, 0.0, 0.0);
  expect_resumed(cut, straight, 2, tolerance, 1e-3);
  expect_resumed(other, straight, 2, GetParam().across_tensor_ranks,
                 std::max(1e-3, GetParam().across_tensor_ranks));
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// A trainer that has resumed `file` under an optimizer.
struct Resumed {
  Resumed(const Case& of, const std::string& file, const std::string& run)
      : job([&] {
          auto text = job_of(of, {.data = world_size(), .micro = 1, .zero = 1});
          text["run"]["directory"] = run;
          text["run"]["steps"] = 6;
          text["checkpoint"] = {{"resume", file}};
          return load(text, world_size());
        }()),
        grid(make_grid(MPI_COMM_WORLD, job.config)),
        trainer(job, grid) {}
  GlobalValues state(std::size_t index) {
    return collect(grid, job.config.model, trainer.store(),
                   [&](int block) { return trainer.optimizer().kept_state(block).states[index]; });
  }
  std::string text(const std::string& file) const {
    return state_text(CheckpointReader(file), trainer.optimizer().states());
  }
  LoadedJob job;
  ProcessGrid grid;
  Trainer trainer;
};

const Case& case_of(const std::string& name) {
  return *std::ranges::find(cases(), name, &Case::name);
}

// Packed moments are float32 in a checkpoint, so a run of AdamW8bit goes on under AdamW and back.
TEST(OtherOptimizer, TakesMomentsOf8bitsAndGivesThemBack) {
  const SharedDirectory directory;
  const Layout layout{.data = world_size(), .micro = 1, .zero = 1};
  run_to(3, job_of(case_of("AdamW8bit"), layout), directory.path("packed"), "");
  const std::string file = directory.path("packed/checkpoints/step-000003.h5");
  Resumed adamw(case_of("AdamW"), file, directory.path("adamw"));
  EXPECT_THAT(adamw.text(file), IsEmpty());
  for (const std::size_t state : {0, 1})
    EXPECT_NE(adamw.state(state), zeros(adamw.job.config.model));
  const double before = adamw.trainer.train_step(3).loss;
  Resumed packed(case_of("AdamW8bit"), file, directory.path("again"));
  EXPECT_EQ(packed.trainer.train_step(3).loss, before) << "the same weights";
  const double with_adamw = adamw.trainer.train_step(4).loss;
  EXPECT_EQ(packed.trainer.train_step(4).loss, with_adamw) << "the update is before the packing";
}

// The mean gradient carries over by its name, if its scale does too: a mean divided by the root of
// a mean square that starts from zero would be a step of any length.
TEST(OtherOptimizer, TakesWhatHasTheSameName) {
  const SharedDirectory directory;
  const Layout layout{.data = world_size(), .micro = 1, .zero = 1};
  run_to(3, job_of(case_of("AdamW"), layout), directory.path("adamw"), "");
  const std::string file = directory.path("adamw/checkpoints/step-000003.h5");
  EXPECT_THAT(saved_states(CheckpointReader(file)), ElementsAre("exp_avg", "exp_avg_sq"));
  Resumed adamw(case_of("AdamW"), file, directory.path("same"));
  EXPECT_THAT(adamw.text(file), IsEmpty());
  Resumed adam(case_of("Adam"), file, directory.path("adam"));
  EXPECT_THAT(adam.text(file), IsEmpty());
  EXPECT_EQ(adam.state(1), adamw.state(1));
  Resumed lion(case_of("Lion"), file, directory.path("lion"));
  EXPECT_EQ(lion.state(0), adamw.state(0));
  EXPECT_EQ(lion.text(file),
            "resumed with another optimizer's state: exp_avg from the checkpoint, exp_avg_sq "
            "dropped");
  for (const Resumed* resumed : {&adamw, &adam, &lion})
    EXPECT_EQ(resumed->trainer.optimizer().starts(), Optimizer::Starts{});
}

TEST(OtherOptimizer, AMeanWithoutItsScaleStartsFromZero) {
  const SharedDirectory directory;
  const std::string file = directory.path("lion/checkpoints/step-000003.h5");
  run_to(3, job_of(case_of("Lion"), {.data = world_size(), .micro = 1, .zero = 1}),
         directory.path("lion"), "");
  Resumed adamw(case_of("AdamW"), file, directory.path("adamw"));
  for (const std::size_t state : {0, 1})
    EXPECT_EQ(adamw.state(state), zeros(adamw.job.config.model));
  EXPECT_EQ(adamw.text(file),
            "resumed with another optimizer's state: exp_avg and exp_avg_sq from zero");
  EXPECT_EQ(adamw.trainer.optimizer().starts(), (Optimizer::Starts{3, 3}));
  const double before = adamw.trainer.train_step(3).loss;
  EXPECT_LT(adamw.trainer.train_step(4).loss, 1.02 * before);
}

TEST(OtherOptimizer, StartsFromZeroWhereNothingHasTheSameName) {
  const SharedDirectory directory;
  const std::string file = directory.path("adamw/checkpoints/step-000002.h5");
  run_to(2, job_of(case_of("AdamW"), {.data = world_size(), .micro = 1}), directory.path("adamw"),
         "");
  Resumed momentum(case_of("Momentum"), file, directory.path("momentum"));
  EXPECT_EQ(momentum.state(0), zeros(momentum.job.config.model));
  EXPECT_THAT(momentum.text(file),
              HasSubstr("momentum_buffer from zero, exp_avg and exp_avg_sq dropped"));
  Resumed plain(case_of("SGD"), file, directory.path("plain"));
  EXPECT_THAT(plain.text(file), HasSubstr("state: exp_avg and exp_avg_sq dropped"));
}

// The start of a state is in the next checkpoint, so that a second resume goes on as without it.
TEST(OtherOptimizer, ASecondResumeCountsFromTheSameStart) {
  const SharedDirectory directory;
  const Layout layout{.data = world_size(), .micro = 1, .zero = 1};
  run_to(2, job_of(case_of("Lion"), layout), directory.path("lion"), "");
  const auto job = job_of(case_of("AdamW"), layout);
  const auto straight =
      run_to(6, job, directory.path("straight"), directory.path("lion/checkpoints/step-000002.h5"));
  const std::string file = directory.path("straight/checkpoints/step-000004.h5");
  EXPECT_EQ(starts_of(CheckpointReader(file), states_of({}), 4), (Optimizer::Starts{2, 2}));
  const auto resumed = run_to(6, job, directory.path("resumed"), file);
  if (world_rank() != 0) return;
  ASSERT_EQ(straight.size(), 4U);
  ASSERT_EQ(resumed.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(resumed[i]["loss"], straight[i + 2]["loss"]);
}

// A group with a learning rate of 0 keeps its tensors.
TEST(OptimizerGroups, HoldTheirTensorsApart) {
  for (const int zero : {0, 3}) {
    auto text = job_of({"",
                        {{"type", "AdamW"},
                         {"params", {{"lr", 1e-3}, {"weight_decay", 0.1}}},
                         {"groups", {{{"match", "*.k_proj.*"}, {"lr", 0.0}}}}}},
                       {.data = world_size(), .micro = 1, .zero = zero});
    const LoadedJob job = load(text, world_size());
    ProcessGrid grid = make_grid(MPI_COMM_WORLD, job.config);
    Trainer trainer(job, grid);
    const auto weights = [&] {
      return collect(grid, job.config.model, trainer.store(), weights_of(trainer.store()));
    };
    const GlobalValues before = weights();
    trainer.train_step(0);
    for (const auto& [name, values] : weights())
      EXPECT_EQ(values == before.at(name), name.find(".k_proj.") != std::string::npos) << name;
  }
}

}  // namespace
}  // namespace triax::test
