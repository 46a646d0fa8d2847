// SPDX-License-Identifier: Apache-2.0
#include "src/plan/placement.hpp"

#include <gmock/gmock.h>

#include "src/comm/device/device_messages.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/version/build_facts.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/job_builder.hpp"

namespace triax::test {
namespace {

TEST(OnNodes, NodesHaveNeighboursOfTheDataAxis) {
  Config config;
  config.parallel.tensor = 2;
  config.parallel.data = 4;
  config.run.space = MemorySpace::host;
  const PlacedConfig one = on_nodes(config, 0);
  EXPECT_EQ(one.place.data_ranks_of_node, 4);
  EXPECT_EQ(one.place.ranks_sharing, (std::array<int, 3>{4, 1, 2}));
  const PlacedConfig two = on_nodes(config, 4);
  EXPECT_EQ(two.place.data_ranks_of_node, 2);
  EXPECT_EQ(two.place.ranks_sharing, (std::array<int, 3>{2, 1, 2}));
  EXPECT_TRUE(two.place.staged_messages);
  EXPECT_THROW(on_nodes(config, 1), UsageError) << "a tensor group on two nodes";
}

TEST(OnNodes, ADeviceThatTheJobNamesNeedNotBeHere) {
  Config config;
  config.run.space = MemorySpace::device;
  const PlacedConfig placed = on_nodes(config, 0);
  EXPECT_EQ(placed.place.space, MemorySpace::device);
  EXPECT_EQ(placed.place.staged_messages, built_for_gpus() && !has_nccl());
}

TEST(OnNodes, WeightsInFewBitsStayOnTheHost) {
  Config config;
  config.model.kept = {"nf4", 4};
  config.run.space = MemorySpace::host;
  EXPECT_EQ(on_nodes(config, 0).place.space, MemorySpace::host);
  config.run.space = MemorySpace::device;
  EXPECT_THAT(error_of([&] { on_nodes(config, 0); }),
              testing::HasSubstr("model.quantize is not built for GPUs yet"));
}

TEST(ShardSize, IsThatOfANodeWhereTheJobSaysSo) {
  PlacedConfig config;
  config.place.data_ranks_of_node = 4;
  for (const auto& [asked, found] : {std::pair{0, 0}, {2, 2}, {-1, 4}}) {
    config.zero.shard_size = asked;
    EXPECT_EQ(shard_size(config), found) << asked;
  }
}

TEST(TakesCopy, WhereTheJobLeavesItOpenIfItFits) {
  PlacedConfig config = golden_config({.micro = 1});
  config.checkpoint.async = AsyncWrites::off;
  // The program's own memory grows while tests run.
  const auto buffers = [](const JobPlan& plan) {
    return plan.memory.of(0).device.buffers - plan.program;
  };
  const std::int64_t without = buffers(plan_job(config));
  const auto copies = [&](AsyncWrites async, bool fit) {
    config.checkpoint.async = async;
    const JobPlan plan = plan_job(config, [fit](const MemoryPlan&) { return fit; });
    EXPECT_EQ(plan.config.checkpoint.async, async) << "settings stay as they are";
    EXPECT_EQ(buffers(plan) > without, takes_copy(plan.config));
    return takes_copy(plan.config);
  };
  EXPECT_TRUE(copies(AsyncWrites::on, false)) << "what does not fit is an error elsewhere";
  EXPECT_FALSE(copies(AsyncWrites::off, true));
  EXPECT_TRUE(copies(AsyncWrites::where_it_fits, true));
  EXPECT_FALSE(copies(AsyncWrites::where_it_fits, false));
}

}  // namespace
}  // namespace triax::test
