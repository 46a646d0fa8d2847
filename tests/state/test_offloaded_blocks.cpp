// SPDX-License-Identifier: Apache-2.0
// Layout of buckets whose state or parameters are partly on the host or on disk.
#include <algorithm>

#include "src/state/parameter_block.hpp"
#include "tests/state/stage_grid.hpp"

namespace triax::test {
namespace {

using testing::Each;

// Offloaded optimizer state: the range kept in memory comes first, then sub-groups that begin at
// file pages.
TEST(OffloadedBlocks, AreSteppedInParts) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  for (const double share : {0.0, 0.3, 1.0}) {
    DataShard shard{.size = 2, .rank = 1, .zero_stage = 1};
    shard.offload.optimizer_share = share;
    shard.offload.part_elements = 2500;
    std::int64_t stepped = 0;
    std::int64_t kept = 0;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
      stepped += block.stepped.count();
      EXPECT_EQ(block.parts.empty(), share == 0.0);
      EXPECT_EQ(block.kept_parts, share == 0.3 ? 1 : 0);
      std::int64_t at = block.stepped.begin;
      for (std::size_t p = 0; p < block.parts.size(); ++p) {
        EXPECT_EQ(block.parts[p].begin, at);
        at = block.parts[p].end;
        if (static_cast<int>(p) < block.kept_parts) {
          kept += block.parts[p].count();
          continue;
        }
        EXPECT_LE(block.parts[p].count(), 2048);
        if (p + 1 < block.parts.size()) {
          EXPECT_EQ(block.parts[p].count() % 1024, 0);
        }
      }
      EXPECT_TRUE(block.parts.empty() || at == block.stepped.end);
    }
    EXPECT_NEAR(static_cast<double>(kept), share == 0.3 ? 0.7 * static_cast<double>(stepped) : 0.0,
                0.01 * static_cast<double>(stepped));
  }
}

TEST(OffloadedBlocks, TheFirstShardsStayInMemory) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  DataShard shard{.size = 2, .rank = 1, .zero_stage = 3};
  shard.offload.parameters = true;
  shard.offload.kept_parameters = 10'000;
  std::int64_t kept = 0;
  int stored = 0;
  for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
    if (block.stored())
      ++stored;
    else if (block.sharded())
      kept += block.parameters.count();
  }
  EXPECT_GT(stored, 2);
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept, 10'000);
  shard.offload.kept_parameters = 0;
  for (const ParameterBlock& block : lay_out_blocks(stage, shard))
    EXPECT_EQ(block.stored(), block.sharded());
}

TEST(OffloadedBlocks, AShareOfTheShardsStaysInMemory) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  DataShard shard{.size = 2, .rank = 1, .zero_stage = 3};
  shard.offload.parameters = true;
  for (const double share : {1.0, 0.6, 0.0}) {
    shard.offload.parameter_share = share;
    std::int64_t kept = 0, all = 0;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
      all += block.parameters.count();
      if (!block.stored()) kept += block.parameters.count();
    }
    EXPECT_LE(static_cast<double>(kept), (1.0 - share) * static_cast<double>(all) + 1.0) << share;
    EXPECT_EQ(kept > 0, share < 1.0) << share;
  }
}

// Device runs: shards beyond the limit go to host memory up to its own limit, else to disk.
TEST(OffloadedBlocks, AHostHasTheFirstOfTheShardsThatDoNotStay) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  DataShard shard{.size = 2, .rank = 1, .zero_stage = 3};
  shard.offload.parameters = shard.offload.of_device = true;
  shard.offload.parameter_share = 0.7;
  std::int64_t largest = 0;
  for (const ParameterBlock& block : lay_out_blocks(stage, shard))
    if (block.stored()) largest = std::max(largest, block.parameters.count());
  for (const std::int64_t room : {std::int64_t{0}, largest, std::int64_t{1} << 60}) {
    shard.offload.host_parameters = room;
    std::int64_t hosted = 0, on_disk = 0;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard)) {
      if (block.home == ParameterHome::host) hosted += block.parameters.count();
      if (block.home == ParameterHome::disk) on_disk += block.parameters.count();
    }
    EXPECT_LE(hosted, room);
    EXPECT_EQ(hosted > 0, room > 0);
    EXPECT_EQ(on_disk > 0, room < std::int64_t{1} << 60);
  }
}

// The host keeps the state of the last buckets, up to its share, and of buckets entirely in a
// store.
TEST(OffloadedBlocks, AHostHasAShareOfADevicesState) {
  const Stage stage(golden_model("gpt2-odd"), {}, 16);
  const auto on_host = [&](bool of_device, double host, double disk) {
    DataShard shard{.size = 2, .rank = 1, .zero_stage = 1};
    shard.offload = {.optimizer_share = disk, .of_device = of_device, .host_share = host};
    std::vector<bool> found;
    for (const ParameterBlock& block : lay_out_blocks(stage, shard))
      found.push_back(block.host_state);
    return found;
  };
  const auto none = on_host(true, 0.0, 0.0), some = on_host(true, 0.5, 0.0);
  EXPECT_THAT(none, Each(false));
  EXPECT_THAT(on_host(false, 1.0, 1.0), Each(false));
  EXPECT_THAT(on_host(true, 1.0, 0.0), Each(true));
  EXPECT_THAT(on_host(true, 0.0, 1.0), Each(true));
  EXPECT_THAT(on_host(true, 0.0, 0.5), Each(false));
  EXPECT_FALSE(some.front());
  EXPECT_TRUE(some.back());
}

}  // namespace
}  // namespace triax::test
