// SPDX-License-Identifier: Apache-2.0
// Work of layers against the FLOPs by which stages are balanced.
#include "src/price/layer_work.hpp"

#include <gtest/gtest.h>

#include "src/model/stage/partition.hpp"
#include "tests/support/training.hpp"

namespace triax::test {
namespace {

double flops(const LayerWork& work) {
  double sum = work.attention_flops;
  for (const MatrixProduct& product : work.products) sum += product.flops();
  return sum;
}

TEST(LayerWork, IsTheFlopsOfTheModelForEveryFamily) {
  for (const char* name : {"gpt2-tiny", "llama-tiny"}) {
    const PlacedConfig config = golden_config({.micro = 2}, name);
    const TensorShard one;
    const BatchShape shape = batch_shape(2, config.data.sequence_length, one);
    const double tokens = 2.0 * config.data.sequence_length;
    EXPECT_NEAR(flops(block_work(config.model, 0, one, shape)) /
                    (tokens * block_flops(config.model, 0, config.data.sequence_length)),
                1.0, 1e-12)
        << name;
    EXPECT_NEAR(flops(head_work(config.model, one, shape)) / (tokens * head_flops(config.model)),
                1.0, 1e-12);
    EXPECT_EQ(flops(embedding_work(config.model, shape)), 0.0);
  }
}

TEST(LayerWork, IsSharedByTensorRanks) {
  const PlacedConfig config = golden_config({.micro = 2}, "llama-tiny");
  const TensorShard one, two{2, 0, true};
  const auto work = [&](const TensorShard& shard) {
    return block_work(config.model, 0, shard, batch_shape(2, config.data.sequence_length, shard));
  };
  EXPECT_NEAR(flops(work(two)) / flops(work(one)), 0.5, 1e-12);
  EXPECT_NEAR(work(two).bytes / work(one).bytes, 0.5, 1e-12);  // sequence parallelism
  const TensorShard whole{2, 0, false};
  EXPECT_GT(work(whole).bytes, 1.1 * work(two).bytes);
}

}  // namespace
}  // namespace triax::test
