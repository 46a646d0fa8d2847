// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_check.hpp"

#include <chrono>

#include "kernels/base/check.hpp"
#include "src/forecast/plan_size.hpp"
#include "src/model/stage/stage.hpp"
#include "tests/io/fixtures.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

TEST(CountParameters, IsTheSumOverTheModelsTensors) {
  for (const std::string& name : golden_names()) {
    const ModelConfig model = load(golden_job(read_golden(name), {}), 1).config.model;
    std::int64_t sum = 0;
    for (const GlobalTensor& tensor : global_tensors(model)) sum += tensor.shape.elements();
    EXPECT_EQ(count_parameters(model), static_cast<double>(sum)) << name;
  }
  EXPECT_EQ(count_parameters(ModelConfig()), 124439808.0);  // GPT-2, as published
}

MemoryPlan memory_of(const PlacedConfig& config) {
  return MemoryPlan(config, step_plans(config), 0);
}

TEST(CheckFits, RanksOfAMachineShareItsMemory) {
  const PlacedConfig config = golden_config({.pipeline = 2, .micro = 1});
  const MemoryPlan plan = memory_of(config);
  const auto first = static_cast<double>(plan.of(0).resident());
  const auto second = static_cast<double>(plan.of(1).resident());
  EXPECT_NO_THROW(check_fits(config, plan, {0}, {first}));
  EXPECT_THROW(check_fits(config, plan, {0}, {first - 1}), UsageError);
  EXPECT_THROW(check_fits(config, plan, {0, 1}, {first}), UsageError);
  EXPECT_NO_THROW(check_fits(config, plan, {0, 1}, {first + second}));
}

std::string refusal(const PlacedConfig& config) {
  return error_of([&] { check_fits(config, memory_of(config), {0}, {1000.0}); });
}

TEST(CheckFits, NamesTheLargestKinds) {
  EXPECT_THAT(
      refusal(golden_config({.micro = 4})),
      AllOf(HasSubstr("does not fit this machine's memory: 1 rank(s)"), HasSubstr("(rank 0 needs"),
            HasSubstr(": buffers "), HasSubstr("activations "), HasSubstr("optimizer ")));
}

TEST(CheckFits, NamesTheLimit) {
  const PlacedConfig config = golden_config({.micro = 1});
  EXPECT_THAT(error_of([&] {
                check_fits(config, memory_of(config), {0}, {1000.0, "the cgroup's memory (x)"});
              }),
              HasSubstr("the job does not fit the cgroup's memory (x): 1 rank(s)"));
}

// The memories of a GPU and of the machine have separate limits, each for its share of a rank.
TEST(CheckFits, WhatAGpuHasCountsForItsMemoryAlone) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  config.place.space = MemorySpace::device;
  const MemoryPlan plan = memory_of(config);
  const auto on_gpu = static_cast<double>(plan.of(0).on_gpu().total());
  const auto on_host = static_cast<double>(plan.of(0).resident());
  const MemoryLimit gpu{2 * on_gpu, "the free memory of its GPU (x)", MemorySpace::device};
  EXPECT_NO_THROW(check_fits(config, plan, {0, 1}, gpu));
  EXPECT_NO_THROW(check_fits(config, plan, {0, 1}, {2 * on_host}));
  EXPECT_THROW(check_fits(config, plan, {0, 1}, {2 * on_host - 1}), UsageError);
  EXPECT_THAT(error_of([&] {
                check_fits(config, plan, {0, 1}, {2 * on_gpu - 1, gpu.what, gpu.space});
              }),
              AllOf(HasSubstr("does not fit the free memory of its GPU (x): 2 rank(s)"),
                    HasSubstr("buffers "), HasSubstr("smaller model")))
      << "what CUDA itself takes is more than any setting of so small a job would save";
}

// The largest sizes that the table of keys allows, refused without delay.
TEST(CheckPlannable, ImpossibleSizesAreTheUsersErrorAtOnce) {
  Config config;
  EXPECT_NO_THROW(check_plannable(config, {gib}));
  config.model.layers = 10000;
  config.model.hidden = 10000000;
  config.model.heads = config.model.kv_heads = 1;
  config.model.head_size = config.model.hidden;
  config.model.intermediate = 100000000;
  config.model.vocabulary = 1000000000;
  config.model.positions = 1000000000;
  config.batch.micro = 1000000000000;
  config.data.sequence_length = 1000000000;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(check_plannable(config, {1000 * gib}), UsageError);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(100));
  EXPECT_THAT(error_of([&] { check_plannable(config, {1000 * gib}); }),
              AllOf(HasSubstr("parameters"), HasSubstr("any machine's memory"),
                    HasSubstr("1000000000000 x 1000000000 tokens")));
}

TEST(CheckPlannable, APlanMayBeTooLongByItself) {
  Config config;
  config.batch.accumulation = 1000000000;
  EXPECT_THAT(error_of([&] { check_plannable(config, {8 * gib}); }),
              AllOf(HasSubstr("instructions"), HasSubstr("gradient_accumulation_steps")));
  config.batch.accumulation = 1;
  config.model.hidden = config.model.head_size = 10'000'000;
  config.model.heads = config.model.kv_heads = 1;
  EXPECT_NO_THROW(check_plannable(config, {8 * gib}));
  config.zero.offload_optimizer.device = OffloadDevice::nvme;
  EXPECT_THAT(error_of([&] { check_plannable(config, {8 * gib}); }),
              HasSubstr("parts of offloaded state"));
}

// The case of `ulimit -v`: the job is not at fault.
TEST(CheckPlannable, ALimitThatCanBeRaisedIsNamedAndIsNoUsersError) {
  const MemoryLimit limit{0.0, "a process's address space (ulimit -v) of 1 MiB", MemorySpace::host,
                          "Raise it"};
  const auto plan = [&] { check_plannable(Config(), limit); };
  EXPECT_THAT(error_of(plan), AllOf(HasSubstr("(ulimit -v) of 1 MiB leaves 0 bytes for a run"),
                                    EndsWith("). Raise it"), Not(HasSubstr("Lower"))));
  const auto libraries = [&] { check_libraries_fit(limit); };
  EXPECT_THAT(error_of(libraries),
              AllOf(HasSubstr("of 1 MiB leaves nothing for a run"), EndsWith("). Raise it")));
  EXPECT_NO_THROW(check_libraries_fit({1.0}));
  const PlacedConfig config = golden_config({.micro = 1});
  const auto fit = [&] { check_fits(config, memory_of(config), {0}, limit); };
  EXPECT_THAT(error_of(fit), AllOf(HasSubstr("does not fit a process's address space"),
                                   HasSubstr("Raise it. Or: ")));
  EXPECT_FALSE(is_usage_error(plan));
  EXPECT_FALSE(is_usage_error(fit));
}

}  // namespace
}  // namespace triax::test
