// That a run sends just this: tests/parity/test_traffic_of_training.cpp.
#include "src/train/message_plan.hpp"

#include <gtest/gtest.h>

#include "tests/support/training.hpp"

namespace triax::test {
namespace {

MessagePlan messages_of(const PlacedConfig& config) {
  return plan_messages(config, step_plans(config));
}

TEST(MessagePlan, OneRankSendsNothing) {
  const MessagePlan plan = messages_of(golden_config({.micro = 1}));
  for (const Axis axis : all_axes) EXPECT_EQ(plan.along(axis), Messages{}) << name_of(axis);
}

TEST(MessagePlan, IsSummedOverReplicas) {
  const MessagePlan one = messages_of(golden_config({.tensor = 2, .micro = 1}));
  const MessagePlan two = messages_of(golden_config({.tensor = 2, .data = 2, .micro = 1}));
  EXPECT_GT(one.along(Axis::tensor).all_gather.messages, 0U);
  // The same micro-batches, half of them each; but each replica sums its partial gradients.
  EXPECT_EQ(two.along(Axis::tensor).all_gather, one.along(Axis::tensor).all_gather);
  EXPECT_EQ(two.along(Axis::tensor).all_reduce, (2 * one.along(Axis::tensor)).all_reduce);
}

TEST(MessagePlan, Zero2ReducesEachMicrobatch) {
  const auto reduced = [](int zero) {
    const PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = zero});
    EXPECT_EQ(config.batch.accumulation % 2, 0);
    return messages_of(config).along(Axis::data).reduce_scatter;
  };
  const PlacedConfig config = golden_config({.data = 2, .micro = 1});
  EXPECT_EQ(reduced(2).messages,
            static_cast<std::uint64_t>(config.batch.accumulation) * reduced(1).messages);
}

// Four groups of two reduce to shards, and sum those over the groups.
TEST(MessagePlan, ShardGroupsSumTheirShards) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 1});
  const Messages one = messages_of(config).along(Axis::data);
  config.parallel.data = 8;
  config.zero.shard_size = 2;
  const Messages four = messages_of(config).along(Axis::data);
  EXPECT_EQ(four.reduce_scatter, (4 * one).reduce_scatter);
  EXPECT_EQ(four.all_gather, (4 * one).all_gather);
  EXPECT_EQ(one.all_reduce, Traffic{});
  // A group gathers W bytes, W / 2 by each rank; of a shard of W / 2, each of eight sends 2 x 3
  // / 4.
  EXPECT_EQ(four.all_reduce.bytes, 6 * one.all_gather.bytes);
}

// Forward and backward send what they did; Recompute sends forward's again, GatherInput once.
TEST(MessagePlan, RecomputedLayersSendForwardAgain) {
  const Layout layout{.tensor = 2, .micro = 1, .sequence_parallel = false};
  const auto tensor = [&](int recompute, bool partition) {
    Layout changed = layout;
    changed.recompute = recompute;
    changed.partition = partition;
    return messages_of(golden_config(changed)).along(Axis::tensor);
  };
  const Messages none = tensor(0, false), all = tensor(99, false), parts = tensor(99, true);
  EXPECT_GT(all.all_reduce.messages, none.all_reduce.messages);
  EXPECT_EQ(all.all_gather, none.all_gather);
  EXPECT_EQ(parts.all_reduce, all.all_reduce);
  EXPECT_GT(parts.all_gather.messages, all.all_gather.messages);
}

// Thousands of ranks, of which no two data ranks need be looked at apart.
TEST(MessagePlan, TenThousandRanksAreQuick) {
  PlacedConfig config = golden_config({.tensor = 2, .pipeline = 2, .micro = 1, .zero = 0});
  const Messages one = messages_of(config).along(Axis::pipeline);
  config.parallel.data = 2500;
  config.zero.stage = 2;
  const MessagePlan all = messages_of(config);
  EXPECT_EQ(all.along(Axis::pipeline).send, (2500 * one).send);
}

TEST(OpMessages, ReductionsUnderWayAreCountedTogether) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  const Stage stage = make_stage(config, 0, 0);
  const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  const OpMessages messages(config, stage, blocks);
  const auto reduce = [](OpKind kind, int block) { return Op{.kind = kind, .block = block}; };
  const auto bytes = [&](std::size_t block) {
    return static_cast<std::uint64_t>(blocks[block].elements) * 4;
  };
  EXPECT_EQ(messages.peak_scratch({reduce(OpKind::ReduceStart, 0), reduce(OpKind::ReduceStart, 1),
                                   reduce(OpKind::ReduceWait, 0), reduce(OpKind::ReduceWait, 1)}),
            bytes(0) + bytes(1));
  EXPECT_EQ(messages.peak_scratch({reduce(OpKind::ReduceStart, 0), reduce(OpKind::ReduceWait, 0),
                                   reduce(OpKind::ReduceStart, 1), reduce(OpKind::ReduceWait, 1)}),
            std::max(bytes(0), bytes(1)));
  EXPECT_EQ(messages.of({OpKind::GradientNorm}).messages, Messages{});
}

// Large messages go through slots of a size of their own, small ones by MPI as ever.
TEST(OpMessages, WhatRanksShareMemoryForNeedsNoneOfMpi) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  const Stage stage = make_stage(config, 0, 0);
  const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  const Plan plan = {{.kind = OpKind::ReduceStart, .block = 0},
                     {.kind = OpKind::ReduceWait, .block = 0}};
  const std::uint64_t by_mpi = OpMessages(config, stage, blocks).peak_scratch(plan);
  config.place.ranks_sharing = {2, 1, 1};
  EXPECT_EQ(OpMessages(config, stage, blocks).peak_scratch(plan),
            std::min(by_mpi, node::most_bytes_by_mpi));
  config.place.ranks_sharing = {1, 2, 2};
  EXPECT_EQ(OpMessages(config, stage, blocks).peak_scratch(plan), by_mpi);
}

// Between nodes MPI sums the part of each rank of a node.
TEST(OpMessages, AcrossNodesMpiNeedsAPart) {
  PlacedConfig config = golden_config({.data = 8, .micro = 1});
  const Stage stage = make_stage(config, 0, 0);
  const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  const Plan plan = {{.kind = OpKind::ReduceStart, .block = 0},
                     {.kind = OpKind::ReduceWait, .block = 0}};
  const std::uint64_t by_mpi = OpMessages(config, stage, blocks).peak_scratch(plan);
  config.place.ranks_sharing = {4, 1, 1};
  EXPECT_EQ(OpMessages(config, stage, blocks).peak_scratch(plan),
            std::max(by_mpi / 4, std::min(by_mpi, node::most_bytes_by_mpi)));
}

// Shard groups of two on nodes of four; with two ranks a node, groups across them share nothing.
TEST(SharingGroups, OfHybridShardingHaveTheirOwn) {
  PlacedConfig config = golden_config({.data = 8, .micro = 1});
  config.zero.stage = 3;
  config.zero.shard_size = 2;
  config.place.ranks_sharing = {4, 1, 1};
  const SharingGroups four(config);
  EXPECT_EQ(four.shard.ranks, 2);
  EXPECT_EQ(four.shard.sharing, 2);
  EXPECT_EQ(four.across_shards.ranks, 4);
  EXPECT_EQ(four.across_shards.sharing, 2);
  config.place.ranks_sharing = {2, 1, 1};
  const SharingGroups two(config);
  EXPECT_EQ(two.shard.sharing, 2);
  EXPECT_EQ(two.across_shards.sharing, 1);
  const Messages sum = planned_all_reduce(4, std::uint64_t{64} << 20);
  EXPECT_EQ(two.of(OpKind::ReplicaSum, Axis::data).scratch_of(sum), sum.scratch);
  EXPECT_EQ(four.of(OpKind::ReplicaSum, Axis::data).scratch_of(sum), sum.scratch / 2);
}

TEST(SharingGroups, EndsOfAPipelineOnTwoNodesShareNothing) {
  PlacedConfig config = golden_config({.pipeline = 4, .micro = 1});
  config.place.ranks_sharing = {1, 2, 1};
  EXPECT_EQ(SharingGroups(config).ends.sharing, 1);
  EXPECT_EQ(SharingGroups(config).axes[1].sharing, 2);
  config.place.ranks_sharing = {1, 4, 1};
  EXPECT_EQ(SharingGroups(config).ends.sharing, 2);
}

TEST(SharedSlotBytes, AreThoseOfTheGroupsOfARank) {
  PlacedConfig config = golden_config({.tensor = 2, .pipeline = 2, .data = 2, .micro = 1});
  EXPECT_EQ(shared_slot_bytes(config), 0);
  config.place.ranks_sharing = {2, 1, 1};
  EXPECT_EQ(shared_slot_bytes(config), node::slot_bytes(2));
  config.place.ranks_sharing = {2, 2, 2};
  EXPECT_EQ(shared_slot_bytes(config), 4 * node::slot_bytes(2)) << "and that of tied embeddings";
  config.parallel.data = 1;
  EXPECT_EQ(shared_slot_bytes(config), 3 * node::slot_bytes(2));
}

TEST(SharedSlotBytes, AcrossNodesAreThoseOfTwoExchanges) {
  PlacedConfig config = golden_config({.data = 8, .micro = 1});
  config.place.ranks_sharing = {4, 1, 1};
  EXPECT_EQ(shared_slot_bytes(config), 2 * node::slot_bytes(4));
}

}  // namespace
}  // namespace triax::test
