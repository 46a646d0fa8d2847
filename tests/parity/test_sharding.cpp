// SPDX-License-Identifier: Apache-2.0
// Other names and other groups for sharded state: the same run.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/io/rank_fixtures.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

constexpr std::int64_t steps = std::min(PARITY_STEPS, 6);

std::vector<StepMetrics> run(const GoldenCase& golden, const Layout& layout,
                             const nlohmann::json& changes) {
  auto job = golden_job(golden, layout);
  job.merge_patch(changes);
  return train(MPI_COMM_WORLD, job, steps);
}

nlohmann::json zero(int stage, const nlohmann::json& more = nlohmann::json::object()) {
  nlohmann::json section = {{"stage", stage}, {"stage3_param_persistence_threshold", 0}};
  section.update(more);
  return {{"zero_optimization", section}};
}

// Every size of shard group with ZeRO stages 1 to 3, beside a tensor or pipeline axis if the ranks
// allow.
TEST(HybridSharding, TrainsAsTheGoldenRun) {
  const int ranks = world_size();
  for (const std::string name : {"gpt2-tiny", "llama-odd"}) {
    const GoldenCase golden = read_golden(name);
    for (Layout layout :
         {Layout{.data = ranks, .micro = 1}, Layout{.tensor = 2, .data = ranks / 2, .micro = 1},
          Layout{.pipeline = 2, .data = ranks / 2, .micro = 1}}) {
      if (layout.ranks() != ranks || !carries(golden, layout)) continue;
      for (int size = 1; size < layout.data; size *= 2)
        for (const int stage : {1, 2, 3}) {
          SCOPED_TRACE(
              fmt::format("{}, {}, stage {}, groups of {}", name, layout.text(), stage, size));
          expect_golden(golden, run(golden, layout, zero(stage, {{"mics_shard_size", size}})));
        }
    }
  }
}

// Each group holds all of the state, so only the sum of gradients crosses groups.
TEST(HybridSharding, SumsOverGroupsOnceAStep) {
  const int ranks = world_size();
  if (ranks < 4) GTEST_SKIP() << "needs two groups of two";
  const GoldenCase golden = read_golden("gpt2-tiny");
  const Layout layout{.data = ranks, .micro = 1};
  const auto bytes = [&](int stage, int size) {
    return run(golden, layout, zero(stage, {{"mics_shard_size", size}})).back().bytes_sent_data;
  };
  // A ZeRO-3 group of two gathers and reduces within itself: no more bytes than ZeRO-3 over all
  // ranks.
  EXPECT_LT(bytes(3, 2), bytes(3, -1));
}

void expect_same_run(const std::vector<StepMetrics>& a, const std::vector<StepMetrics>& b) {
  expect_same_bits(a, b);
  EXPECT_EQ(a.back().bytes_sent_data, b.back().bytes_sent_data);
}

// Runs jobs on one grid, which is expensive to make.
class OnGrid {
 public:
  explicit OnGrid(const Layout& layout, const std::vector<int>& node_of_rank = {})
      : layout_(layout),
        grid_(MPI_COMM_WORLD,
              {.data = layout.data, .pipeline = layout.pipeline, .tensor = layout.tensor},
              node_of_rank) {}
  std::vector<StepMetrics> with(const nlohmann::json& changes) {
    auto job = golden_job(read_golden("gpt2-tiny"), layout_);
    job.merge_patch(changes);
    return train(grid_, load(job, world_size()), std::min<std::int64_t>(steps, 3));
  }
  // The job in FSDP's terms, without ZeRO's.
  std::vector<StepMetrics> fsdp(const nlohmann::json& section) {
    return with({{"fsdp", section}, {"zero_optimization", nullptr}});
  }

 private:
  Layout layout_;
  ProcessGrid grid_;
};

TEST(Fsdp, ItsNamesAreTheSameRuns) {
  for (const Layout& layout : {Layout{.data = world_size(), .micro = 1},
                               Layout{.tensor = 2, .data = world_size() / 2, .micro = 2}}) {
    if (layout.data == 1) continue;
    OnGrid run(layout);
    const auto full = run.with(zero(3));
    const auto expect = [&](const char* strategy, const std::vector<StepMetrics>& zero_run) {
      SCOPED_TRACE(layout.text() + ", " + strategy);
      expect_same_run(run.fsdp({{"sharding_strategy", strategy}}), zero_run);
    };
    expect("FULL_SHARD", full);
    expect("SHARD_GRAD_OP", run.with(zero(2)));
    expect("NO_SHARD", run.with(zero(0)));
    expect("HYBRID_SHARD", full);  // all ranks of the test are on one node
  }
}

TEST(Fsdp, ItsOtherKeysAreTheSameRuns) {
  OnGrid run({.data = world_size(), .micro = 1});
  expect_same_run(
      run.fsdp({{"sharding_strategy", "FULL_SHARD"}, {"backward_prefetch", "BACKWARD_POST"}}),
      run.with(zero(3, {{"stage3_prefetch_bucket_size", 0}})));
  expect_same_run(run.fsdp({{"sharding_strategy", "FULL_SHARD"}, {"limit_all_gathers", false}}),
                  run.with(zero(3)));
}

// Shards within a node and copies across nodes: MiCS' groups of a node's data ranks.
TEST(Fsdp, HybridShardIsAGroupForEachNode) {
  if (world_size() < 4) GTEST_SKIP() << "needs two nodes of two";
  OnGrid run({.data = 4, .micro = 1}, {0, 0, 1, 1});
  const auto hybrid = run.fsdp({{"sharding_strategy", "HYBRID_SHARD"}});
  expect_same_run(hybrid, run.with(zero(3, {{"mics_shard_size", 2}})));
  EXPECT_NE(hybrid.back().bytes_sent_data, run.with(zero(3)).back().bytes_sent_data);
}

}  // namespace
}  // namespace triax::test
