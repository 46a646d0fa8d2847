// That a run allocates just this: tests/parity/test_traffic_of_training.cpp.
#include "src/train/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t program = 1000;

Config config_of(const Layout& layout) {
  return load(golden_job(read_golden("gpt2-tiny"), layout), layout.ranks()).config;
}

MemoryPlan memory_of(const Config& config) {
  return MemoryPlan(config, step_plans(config), program);
}

KindBytes first_rank(const Layout& layout) {
  return memory_of(config_of(layout)).of(0).device;
}

TEST(KindBytes, TotalIsOverAllKinds) {
  KindBytes bytes;
  std::int64_t next = 1;
  for (const MemoryKind& kind : memory_kinds) bytes.*kind.bytes = std::exchange(next, 2 * next);
  EXPECT_EQ(bytes.total(), next - 1);
  EXPECT_EQ(sizeof(KindBytes), memory_kinds.size() * sizeof(std::int64_t));
}

TEST(MemoryPlan, ZeroCutsOneKindAfterAnother) {
  const Layout layout{.data = 2, .micro = 1};
  const auto with_zero = [&](int stage) {
    Layout cut = layout;
    cut.zero = stage;
    Config config = config_of(cut);
    config.zero.persistence_threshold = 0;
    return memory_of(config).of(0).device;
  };
  const KindBytes none = with_zero(0);
  EXPECT_EQ(none.gathered, 0);
  const auto halved = [](std::int64_t all, std::int64_t part) {
    return part >= all / 2 && part <= all / 2 + 4096;
  };
  EXPECT_TRUE(halved(none.optimizer, with_zero(1).optimizer));
  EXPECT_EQ(none.gradients, with_zero(1).gradients);
  EXPECT_TRUE(halved(none.gradients, with_zero(2).gradients));
  EXPECT_EQ(none.parameters, with_zero(2).parameters);
  EXPECT_TRUE(halved(none.parameters, with_zero(3).parameters));
  EXPECT_GT(with_zero(2).gathered, 0);
  EXPECT_GT(with_zero(3).gathered, with_zero(2).gathered);
  EXPECT_LT(with_zero(1).communication, none.communication);  // shards, not whole gradients
}

TEST(MemoryPlan, RecomputeAndSmallBatchesShrinkActivations) {
  const KindBytes all = first_rank({.micro = 2});
  EXPECT_LT(first_rank({.micro = 2, .recompute = 99}).activations, all.activations);
  EXPECT_LT(first_rank({.micro = 1}).activations, all.activations);
  EXPECT_EQ(all.communication, 0);
  EXPECT_GT(all.buffers, program);
}

TEST(MemoryPlan, RanksOfAStageAreAlikeWhereverTheyStand) {
  Config config = config_of({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1});
  config.parallel.order = "pipeline,data,tensor";
  const MemoryPlan plan = memory_of(config);
  EXPECT_EQ(plan.stage_of(3), 0);
  EXPECT_EQ(plan.stage_of(4), 1);
  EXPECT_EQ(plan.of(0), plan.of(3));
  EXPECT_NE(plan.of(0), plan.of(4));
  const int fullest = plan.fullest();
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_LE(plan.of(rank).resident(), plan.of(fullest).resident());
}

// A large job on a small machine: nothing of its size is allocated.
TEST(MemoryPlan, TakesNoMemoryOfTheJobs) {
  Config config = config_of({.tensor = 2, .pipeline = 2, .micro = 1});
  config.model.hidden = 16384;
  config.model.intermediate = 65536;
  config.model.heads = config.model.kv_heads = 128;
  config.model.head_size = 128;
  config.model.layers = 96;
  config.parallel.data = 2500;
  const MemoryPlan plan = memory_of(config);
  EXPECT_GT(plan.of(9999).device.optimizer, std::int64_t{500} << 30);
}

}  // namespace
}  // namespace triax::test
