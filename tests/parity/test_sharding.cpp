// Ways to cut the state that bear another name or another group: the same run.
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

// Every size of shard group, stages 1 to 3, beside a tensor or a pipeline axis where ranks allow.
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

// Each group has all of the state, and only the sum over the groups is beyond it.
TEST(HybridSharding, SumsOverGroupsOnceAStep) {
  const int ranks = world_size();
  if (ranks < 4) GTEST_SKIP() << "needs two groups of two";
  const GoldenCase golden = read_golden("gpt2-tiny");
  const Layout layout{.data = ranks, .micro = 1};
  const auto bytes = [&](int stage, int size) {
    return run(golden, layout, zero(stage, {{"mics_shard_size", size}})).back().bytes_sent_data;
  };
  // A stage 3 group of two gathers and reduces within itself: no more than stage 3 over all.
  EXPECT_LT(bytes(3, 2), bytes(3, -1));
}

void expect_same_run(const std::vector<StepMetrics>& a, const std::vector<StepMetrics>& b) {
  expect_same_bits(a, b);
  EXPECT_EQ(a.back().bytes_sent_data, b.back().bytes_sent_data);
}

TEST(Fsdp, ItsNamesAreTheSameRuns) {
  const GoldenCase golden = read_golden("gpt2-tiny");
  const Layout layout{.data = world_size(), .micro = 1};
  const auto fsdp = [&](const nlohmann::json& section) {
    return run(golden, layout, {{"fsdp", section}, {"zero_optimization", nullptr}});
  };
  expect_same_run(fsdp({{"sharding_strategy", "FULL_SHARD"}}), run(golden, layout, zero(3)));
  expect_same_run(fsdp({{"sharding_strategy", "SHARD_GRAD_OP"}}), run(golden, layout, zero(2)));
  expect_same_run(fsdp({{"sharding_strategy", "NO_SHARD"}}), run(golden, layout, zero(0)));
  // All ranks of the test are on one node.
  expect_same_run(fsdp({{"sharding_strategy", "HYBRID_SHARD"}}), run(golden, layout, zero(3)));
  expect_same_run(
      fsdp({{"sharding_strategy", "FULL_SHARD"}, {"backward_prefetch", "BACKWARD_POST"}}),
      run(golden, layout, zero(3, {{"stage3_prefetch_bucket_size", 0}})));
  expect_same_run(fsdp({{"sharding_strategy", "FULL_SHARD"}, {"limit_all_gathers", false}}),
                   run(golden, layout, zero(3)));
}

}  // namespace
}  // namespace triax::test
