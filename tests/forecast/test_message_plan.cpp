// SPDX-License-Identifier: Apache-2.0
// Message plans. tests/parity/test_traffic_of_training.cpp checks that a run sends exactly this.
#include "src/forecast/message_plan.hpp"

#include <gtest/gtest.h>

#include <ctime>

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
  // Each replica has half of the micro-batches, but sums all its partial gradients.
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

// Four shard groups of two reduce to shards and sum these across the groups.
TEST(MessagePlan, ShardGroupsSumTheirShards) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 1});
  const Messages one = messages_of(config).along(Axis::data);
  config.parallel.data = 8;
  config.zero.shard_size = 2;
  const Messages four = messages_of(config).along(Axis::data);
  EXPECT_EQ(four.reduce_scatter, (4 * one).reduce_scatter);
  EXPECT_EQ(four.all_gather, (4 * one).all_gather);
  EXPECT_EQ(one.all_reduce, Traffic{});
  // A group gathers W bytes, W / 2 sent by each rank; each of eight ranks sends 2 x 3 / 4 of a
  // shard of W / 2.
  EXPECT_EQ(four.all_reduce.bytes, 6 * one.all_gather.bytes);
}

// Forward and Backward send the same as without; Recompute sends Forward's messages again, and
// GatherInput once.
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

// Buckets of two elements cut a small model into hundreds of thousands of pieces. The time per
// piece must not grow with their number: it once took minutes; a second is usual.
TEST(MessagePlan, ManyPiecesAreQuick) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 1});
  config.model.intermediate *= 4;
  const Messages whole = messages_of(config).along(Axis::data);
  config.zero.allgather_bucket_size = 2;
  const std::clock_t begin = std::clock();  // CPU time: other processes may use the cores
  const Messages pieces = messages_of(config).along(Axis::data);
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
  EXPECT_EQ(pieces.all_gather.bytes, whole.all_gather.bytes);
  EXPECT_GT(pieces.all_gather.messages, 200'000U);
}

// Data ranks with equal messages are counted once.
TEST(MessagePlan, TenThousandRanksAreQuick) {
  PlacedConfig config = golden_config({.tensor = 2, .pipeline = 2, .micro = 1, .zero = 0});
  const Messages one = messages_of(config).along(Axis::pipeline);
  config.parallel.data = 2500;
  config.zero.stage = 2;
  const MessagePlan all = messages_of(config);
  EXPECT_EQ(all.along(Axis::pipeline).send, (2500 * one).send);
}

// All-reduces small enough to go through MPI.
TEST(OpMessages, ReductionsUnderWayAreCountedTogether) {
  const PlacedConfig config = golden_config({.data = 2, .micro = 1, .zero = 0});
  const Stage stage = make_stage(config, 0, 0);
  std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  blocks[0].elements = 1000;
  blocks[1].elements = 3000;
  const OpMessages messages(config, stage, blocks);
  const auto reduce = [](OpKind kind, int block) { return Op{.kind = kind, .block = block}; };
  EXPECT_EQ(messages.peak_scratch({reduce(OpKind::ReduceStart, 0), reduce(OpKind::ReduceStart, 1),
                                   reduce(OpKind::ReduceWait, 0), reduce(OpKind::ReduceWait, 1)}),
            16'000U);
  EXPECT_EQ(messages.peak_scratch({reduce(OpKind::ReduceStart, 0), reduce(OpKind::ReduceWait, 0),
                                   reduce(OpKind::ReduceStart, 1), reduce(OpKind::ReduceWait, 1)}),
            12'000U);
  EXPECT_EQ(messages.of({OpKind::GradientNorm}).messages, Messages{});
}

// Bytes that one of `data` ranks keeps for the sum of a bucket of 16 MiB.
std::uint64_t held_for(int data, int sharing, int zero = 0) {
  PlacedConfig config = golden_config({.data = 2, .micro = 1});
  config.zero.stage = zero;
  config.parallel.data = data;
  config.place.ranks_sharing = {sharing, 1, 1};
  const Stage stage = make_stage(config, 0, 0);
  std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
  blocks[0].elements = std::int64_t{4} << 20;
  const Plan plan = {{.kind = OpKind::ReduceStart, .block = 0},
                     {.kind = OpKind::ReduceStart, .block = 0},
                     {.kind = OpKind::ReduceWait, .block = 0}};
  return OpMessages(config, stage, blocks).held(plan);
}

// Also within a node: messages may be faster than shared slots.
TEST(OpMessages, SumsOfOneNodeOrOfRanksApartMayAllGoByMessages) {
  constexpr std::uint64_t block = std::uint64_t{16} << 20;
  for (const int ranks : {2, 8, 64})
    for (const int sharing : {1, ranks})
      EXPECT_EQ(held_for(ranks, sharing), direct::held_bytes(ranks, block / ranks));
}

// Between nodes each rank has one partner per other node.
TEST(OpMessages, AcrossNodesThereAreFewerPartners) {
  constexpr std::uint64_t block = std::uint64_t{16} << 20;
  const std::uint64_t between = direct::held_bytes(2, block / 8);
  EXPECT_EQ(held_for(8, 4, 1), between + direct::held_bytes(8, node::least_bytes / 8));
  EXPECT_EQ(held_for(8, 4, 0), between + direct::held_bytes(8, block / 8))
      << "an all-reduce need not divide by the ranks of a node";
}

TEST(OpMessages, WhatIsHeldIsBoundedHoweverManyRanks) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  for (const int ranks : {2, 8, 64, 512}) EXPECT_LE(direct::held_bytes(ranks, 512 * mib), 17 * mib);
  EXPECT_LE(direct::held_bytes(1250, 512 * mib), 20 * mib);
  EXPECT_EQ(direct::held_bytes(1250, 1024), 1265 * 1024U) << "no more than the parts";
}

// Shard groups of two on nodes of four. With two ranks per node, groups across shards share no
// memory.
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
  EXPECT_EQ(two.of(OpKind::ReplicaSum, Axis::data).held_for(sum).between_nodes, 0U);
  EXPECT_EQ(four.of(OpKind::ReplicaSum, Axis::data).held_for(sum).between_nodes,
            direct::held_bytes(2, sum.part));
}

TEST(SharingGroups, EndsOfAPipelineOnTwoNodesShareNothing) {
  PlacedConfig config = golden_config({.pipeline = 4, .micro = 1});
  config.place.ranks_sharing = {1, 2, 1};
  EXPECT_EQ(SharingGroups(config).ends.sharing, 1);
  EXPECT_EQ(SharingGroups(config).axes[1].sharing, 2);
  config.place.ranks_sharing = {1, 4, 1};
  EXPECT_EQ(SharingGroups(config).ends.sharing, 2);
}

TEST(SharingGroups, OfTensorRanksWithTheSameHeads) {
  PlacedConfig config = golden_config({.tensor = 4, .micro = 1});
  config.place.ranks_sharing = {1, 1, 4};
  const auto same_heads = [&](int kv_heads) {
    config.model.kv_heads = kv_heads;
    return SharingGroups(config).same_heads;
  };
  EXPECT_EQ(same_heads(4).ranks, 1) << "each has its own";
  EXPECT_EQ(same_heads(1).ranks, 1) << "all have it: the axis";
  EXPECT_EQ(same_heads(2).ranks, 2);
  EXPECT_EQ(same_heads(2).sharing, 2);
  EXPECT_EQ(shared_slot_bytes(config), node::slot_bytes(4) + node::slot_bytes(2));
}

// Sums over ranks with the same heads use a group of their own.
TEST(OpMessages, SumsOfTheSameHeadsAreHeldTwice) {
  PlacedConfig config = golden_config({.tensor = 4, .micro = 1}, "llama-tiny");
  config.place.ranks_sharing = {1, 1, 4};
  const auto held = [&](int kv_heads) {
    config.model.kv_heads = kv_heads;
    const Stage stage = make_stage(config, 0, 0);
    const std::vector<ParameterBlock> blocks = lay_out_blocks(stage, data_shard(config, 0));
    const OpMessages messages(config, stage, blocks);
    std::uint64_t most = 0;
    for (int block = 0; block < std::ssize(blocks); ++block) {
      const Op op{.kind = OpKind::TensorSum, .block = block};
      const std::uint64_t part = messages.of(op).messages.part;
      const std::uint64_t axis = part == 0 ? 0 : direct::held_bytes(4, part);
      EXPECT_GE(messages.held({op}), axis);
      most = std::max(most, messages.held({op}) - axis);
    }
    return most;
  };
  EXPECT_EQ(held(4), 0U);
  EXPECT_GT(held(2), 0U);
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
