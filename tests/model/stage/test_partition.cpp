// SPDX-License-Identifier: Apache-2.0
#include "src/model/stage/partition.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "tests/model/small_models.hpp"
#include "tests/support/error_of.hpp"

namespace triax::test {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Cost of the most expensive chunk of a partition.
double dearest(const ModelConfig& model, const std::vector<int>& cuts) {
  double most = 0.0;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    double cost = c + 2 == cuts.size() ? head_flops(model) : 0.0;
    for (int block = cuts[c]; block < cuts[c + 1]; ++block) cost += block_flops(model, block, 16);
    most = std::max(most, cost);
  }
  return most;
}

// Smallest such cost of any partition into non-empty chunks.
double least(const ModelConfig& model, std::vector<int> cuts, int chunks) {
  if (chunks == 1) {
    cuts.push_back(model.layers);
    return dearest(model, cuts);
  }
  double best = std::numeric_limits<double>::infinity();
  for (int next = cuts.back() + 1; next <= model.layers - chunks + 1; ++next) {
    cuts.push_back(next);
    best = std::min(best, least(model, cuts, chunks - 1));
    cuts.pop_back();
  }
  return best;
}

TEST(PartitionBlocks, NoCutIsCheaper) {
  for (const int vocabulary : {10, 1000, 5000, 100000})  // the head from nothing to many blocks
    for (const int layers : {1, 2, 5, 8, 11}) {
      ModelConfig model = small_model("llama");
      model.layers = layers;
      model.vocabulary = vocabulary;
      model.window = 2;  // blocks of two costs
      for (int block = 0; block < layers; ++block) model.windowed.push_back(block % 3 != 1);
      for (int chunks = 1; chunks <= layers; ++chunks) {
        const std::vector<int> cuts = partition_blocks(model, chunks, 16);
        ASSERT_EQ(std::ssize(cuts), chunks + 1);
        EXPECT_EQ(cuts.front(), 0);
        EXPECT_EQ(cuts.back(), layers);
        for (std::size_t c = 0; c + 1 < cuts.size(); ++c) EXPECT_LT(cuts[c], cuts[c + 1]);
        EXPECT_DOUBLE_EQ(dearest(model, cuts), least(model, {0}, chunks))
            << layers << " blocks, " << chunks << " chunks";
      }
    }
}

TEST(PartitionBlocks, ADearHeadGetsFewerBlocks) {
  ModelConfig model = small_model("gpt2");
  model.layers = 8;
  model.vocabulary = 50;
  EXPECT_THAT(partition_blocks(model, 2, 16), ElementsAre(0, 4, 8));
  model.vocabulary = 100000;
  EXPECT_THAT(partition_blocks(model, 2, 16), ElementsAre(0, 7, 8));
}

TEST(PartitionBlocks, AFastChunkGetsMoreBlocks) {
  ModelConfig model = small_model("gpt2");
  model.layers = 12;
  model.vocabulary = 1;
  EXPECT_THAT(partition_blocks(model, 2, 16, {1.0, 0.5}), ElementsAre(0, 8, 12));
  EXPECT_THAT(partition_blocks(model, 3, 16, {0.5, 1.0, 0.5}), ElementsAre(0, 3, 9, 12));
  EXPECT_THAT(partition_blocks(model, 2, 16, {1.0, 1e-9}), ElementsAre(0, 11, 12));
}

TEST(PartitionBlocks, NumbersByHandAreCuts) {
  EXPECT_THAT(cuts_of({3, 1, 4}), ElementsAre(0, 3, 4, 8));
}

TEST(PartitionBlocks, FewerBlocksThanChunksIsTheUsersError) {
  EXPECT_THAT(error_of([] { partition_blocks(small_model("gpt2"), 3, 16); }),
              HasSubstr("parallel.pipeline"));
}

TEST(BlockFlops, CountTwoAWeightAndHalfTheSquare) {
  const ModelConfig model = small_model("llama");
  const double weights = 12 * (16 + 2 * 8) + 16 * 12 + 3 * 12 * 10;
  EXPECT_EQ(block_flops(model, 0, 100), 2 * (weights + 16 * 100));
  EXPECT_EQ(head_flops(model), 2 * 12 * 21);
}

// A window of 10 keys over 100 tokens: the first queries see fewer.
TEST(BlockFlops, CountTheKeysInAWindow) {
  ModelConfig model = small_model("llama");
  model.window = 10;
  model.windowed = {true, false};
  const double whole = block_flops(model, 1, 100);
  EXPECT_EQ(whole - block_flops(model, 0, 100), 4 * 16 * (50 - 9.5));
  model.window = 100;
  EXPECT_EQ(block_flops(model, 0, 100), whole);
}

// Once the slowest chunk is as fast as can be, the others are even.
TEST(PartitionBlocks, TheRestIsEven) {
  ModelConfig model = small_model("llama");
  model.layers = 80;
  model.vocabulary = 100;  // a head of four blocks or so
  const std::vector<int> cuts = partition_blocks(model, 8, 16);
  for (std::size_t c = 0; c + 2 < cuts.size(); ++c)
    EXPECT_THAT(cuts[c + 1] - cuts[c], AnyOf(10, 11)) << c;
}

}  // namespace
}  // namespace triax::test
