// SPDX-License-Identifier: Apache-2.0
// tests/parity/test_traffic_of_training.cpp checks that a run sends exactly these messages.
#include "src/state/parameters/block_messages.hpp"

#include <gtest/gtest.h>

namespace triax {
namespace {

ParameterBlock block_of(int zero, int data_size, int data_rank) {
  ParameterBlock block;
  block.elements = 1600;
  const FlatRange own = part_of_rank(block.elements, data_size, data_rank);
  const FlatRange all{0, block.elements};
  block.own = own;
  block.stepped = zero >= 1 ? own : all;
  block.gradients = zero >= 2 ? own : all;
  block.partial = {{{1000, 1300}, 1}, {{1300, 1500}, 2}};
  return block;
}

StateOptions options_of(int zero, int size, int groups = 1) {
  return {.shard = {.size = size, .groups = groups, .zero_stage = zero}};
}

TEST(BlockMessages, GradientsAreReducedWholeOrToShards) {
  const auto reduce = [](int zero) {
    return block_messages(block_of(zero, 2, 0), options_of(zero, 2), 1).reduce;
  };
  EXPECT_EQ(reduce(0), planned_all_reduce(2, 6400));
  EXPECT_EQ(reduce(1), planned_reduce_scatter(2, 6400));
  EXPECT_EQ(reduce(3), planned_reduce_scatter(2, 6400));
}

TEST(BlockMessages, PartialSumsAreOfWhatTheRankKeeps) {
  const auto sum = [](int zero, int data_rank) {
    return block_messages(block_of(zero, 2, data_rank), options_of(zero, 2), 4).tensor_sum;
  };
  const Messages all = planned_all_reduce(4, 1200) + planned_all_reduce(2, 800);
  EXPECT_EQ(sum(0, 0), all);
  EXPECT_EQ(sum(1, 0), all);
  EXPECT_EQ(sum(2, 0), Messages{});  // first 800 elements
  EXPECT_EQ(sum(2, 1), all);
}

TEST(BlockMessages, TiedSumIsOfTheShardAndTheGatherOfTheWhole) {
  const BlockMessages whole = block_messages(block_of(0, 2, 0), options_of(0, 2), 1);
  EXPECT_EQ(whole.tied_sum, planned_all_reduce(2, 6400));
  const BlockMessages shard = block_messages(block_of(1, 2, 0), options_of(1, 2), 1);
  EXPECT_EQ(shard.tied_sum, planned_all_reduce(2, 3200));
  EXPECT_EQ(shard.gathers.front(), planned_all_gather(2, 6400));
}

TEST(BlockMessages, ReplicasSumTheirShardAndTheGroupCutsTheWhole) {
  const BlockMessages messages = block_messages(block_of(2, 4, 1), options_of(2, 4, 3), 1);
  EXPECT_EQ(messages.replica_sum, planned_all_reduce(3, 1600));
  EXPECT_EQ(messages.reduce, planned_reduce_scatter(4, 6400));
  EXPECT_EQ(block_messages(block_of(2, 4, 1), options_of(2, 4), 1).replica_sum, Messages{});
}

TEST(BlockMessages, HaveTheTypesOfParametersAndGradients) {
  StateOptions options = options_of(1, 2, 2);
  options.type = DType::bf16;
  const BlockMessages mixed = block_messages(block_of(1, 2, 0), options, 1);
  EXPECT_EQ(mixed.gathers.front(), planned_all_gather(2, 3200));
  EXPECT_EQ(mixed.reduce, planned_reduce_scatter(2, 6400));
  options.gradient_type = DType::bf16;
  const BlockMessages halved = block_messages(block_of(1, 2, 0), options, 1);
  EXPECT_EQ(halved.reduce, planned_reduce_scatter(2, 3200));
  EXPECT_EQ(halved.replica_sum, planned_all_reduce(2, 1600));
  EXPECT_EQ(halved.tied_sum, planned_all_reduce(2, 1600));
}

}  // namespace
}  // namespace triax
