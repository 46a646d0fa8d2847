// SPDX-License-Identifier: Apache-2.0
// Plans that are equal on all ranks. test_same_plan_ranks.cpp tests the errors of ranks that
// differ; all runs of tests/parity begin with this comparison.
#include "src/forecast/same_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Expects equal layouts and messages on all ranks of each group of a job.
void expect_one_plan(const PlacedConfig& config) {
  const StepPlans plans = step_plans(config);
  const ParallelConfig& grid = config.parallel;
  RankMessages of_stages;
  for (int stage = 0; stage < grid.pipeline; ++stage) {
    std::vector<MessageList> tensor_lists(static_cast<std::size_t>(grid.data));
    for (int tensor = 0; tensor < grid.tensor; ++tensor) {
      MessageList data_list;
      for (int data = 0; data < grid.data; ++data) {
        SCOPED_TRACE(fmt::format("data {}, pipeline {}, tensor {}", data, stage, tensor));
        const RankPlace rank{data, stage, tensor};
        EXPECT_NO_THROW(check_layout(config, plans, rank));
        const RankMessages own = rank_messages(config, plans, rank);
        EXPECT_EQ(own.tensor.empty(), grid.tensor == 1);
        EXPECT_EQ(own.data.empty(), grid.data == 1);
        MessageList& tensor_list = tensor_lists[static_cast<std::size_t>(data)];
        if (tensor == 0) tensor_list = own.tensor;
        EXPECT_EQ(own.tensor, tensor_list);
        if (data == 0) data_list = own.data;
        EXPECT_EQ(own.data, data_list);
        const bool first = stage + tensor + data == 0;
        if (first) of_stages = own;
        EXPECT_EQ(own.neighbours, of_stages.neighbours);
        if (stage == grid.pipeline - 1) {
          EXPECT_EQ(own.ends, of_stages.ends);
        }
      }
    }
  }
}

TEST(SamePlan, OfAllGoldenModelsOnAllTensorSizes) {
  int jobs = 0;
  for (const std::string& name : golden_names())
    for (const int tensor : {1, 2, 3, 4, 6})
      for (const int zero : {0, 1, 2, 3}) {
        const Layout layout{.tensor = tensor, .data = 2, .micro = 1, .zero = zero};
        if (!carries(read_golden(name), layout)) continue;
        SCOPED_TRACE(name + ", " + layout.text());
        PlacedConfig config = golden_config(layout, name);
        expect_one_plan(config);
        config.zero.allgather_bucket_size = 3000;
        expect_one_plan(config);
        config.zero.persistence_threshold = 900;
        config.zero.offload_optimizer.device = OffloadDevice::nvme;
        config.zero.offload_optimizer.part = 2048;
        expect_one_plan(config);
        ++jobs;
      }
  EXPECT_GT(jobs, 80);
}

TEST(SamePlan, OfStagesThatShareAMatrixAndShardGroups) {
  PlacedConfig config =
      golden_config({.tensor = 2, .pipeline = 2, .data = 4, .micro = 1, .zero = 2});
  expect_one_plan(config);
  config.zero.shard_size = 2;
  expect_one_plan(config);
  config.parallel.sequence_parallel = false;
  config.recompute = {.what = Recompute::layer, .layers = 99, .partition_inputs = true};
  expect_one_plan(config);
}

// Tensor ranks of llama-scaled have 864 and 936 elements of mlp.input. Tries limits around and
// between them, and pieces whose number changes with a few elements.
TEST(SamePlan, WhereverALimitLiesBetweenTensorRanks) {
  for (const std::int64_t limit : {863, 864, 900, 935, 936, 937}) {
    SCOPED_TRACE(limit);
    PlacedConfig config =
        golden_config({.tensor = 4, .data = 2, .micro = 1, .zero = 3}, "llama-scaled");
    config.zero.persistence_threshold = limit;
    expect_one_plan(config);
  }
  for (std::int64_t bucket = 900; bucket < 4000; bucket += 37) {
    SCOPED_TRACE(bucket);
    PlacedConfig config =
        golden_config({.tensor = 4, .data = 2, .micro = 1, .zero = 1}, "llama-scaled");
    config.zero.allgather_bucket_size = bucket;
    expect_one_plan(config);
  }
}

TEST(SamePlan, ABlockThatIsNotThePlansIsNamed) {
  const PlacedConfig config = golden_config({.tensor = 2, .data = 2, .micro = 1, .zero = 1});
  StepPlans plans = step_plans(config);
  plans.shape.blocks[0][1].gather_piece = 64;
  EXPECT_THAT(error_of([&] { check_layout(config, plans, {.data = 1, .tensor = 1}); }),
              AllOf(HasSubstr("block 1 of stage 0"), HasSubstr("on tensor rank 1, data rank 1"),
                    HasSubstr("gathered 0 at once"), HasSubstr("gathered 64 at once"),
                    HasSubstr("a bug of triax")));
  plans.shape.blocks[0].pop_back();
  plans.shape.blocks[0][1].gather_piece = 0;
  EXPECT_THAT(error_of([&] { check_layout(config, plans, {}); }), HasSubstr("there is none"));
}

}  // namespace
}  // namespace triax::test
