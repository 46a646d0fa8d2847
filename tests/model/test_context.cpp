// SPDX-License-Identifier: Apache-2.0
#include "src/model/context.hpp"

#include <gtest/gtest.h>

#include <set>

#include "src/comm/grid/process_grid.hpp"

namespace triax {
namespace {

TEST(BatchShape, WithoutSequenceParallelismEveryRankHasAllRows) {
  const BatchShape shape = batch_shape(2, 5, {4, 3, false});
  EXPECT_EQ(shape.rows, 10);
  EXPECT_EQ(shape.local_rows, 10);
  EXPECT_EQ(shape.first_row, 0);
}

TEST(BatchShape, SequenceParallelismCutsPaddedRowsEqually) {
  for (int rank = 0; rank < 4; ++rank) {
    const BatchShape shape = batch_shape(2, 5, {4, rank, true});
    EXPECT_EQ(shape.tokens(), 10);
    EXPECT_EQ(shape.rows, 12);
    EXPECT_EQ(shape.local_rows, 3);
    EXPECT_EQ(shape.first_row, 3 * rank);
  }
}

TEST(DropoutKey, DiffersByStepLayerAndPlace) {
  std::set<std::uint64_t> keys;
  const Stream stream;
  const TensorShard shard;
  ProcessGrid grid(MPI_COMM_SELF, {});
  Arena arena;
  for (const std::uint64_t step : {1, 2})
    for (const int layer : {0, 1, 2})
      for (const DropoutPlace place : {DropoutPlace::embedding, DropoutPlace::attention,
                                       DropoutPlace::attention_output, DropoutPlace::mlp_output}) {
        const Context ctx{.stream = stream,
                          .tensor = grid.tensor(),
                          .shard = shard,
                          .shape = {},
                          .scratch = arena,
                          .tokens = {},
                          .labels = {},
                          .loss_sum = {},
                          .dropout_key = step};
        keys.insert(dropout_key(ctx, layer, place));
      }
  EXPECT_EQ(keys.size(), 2U * 3U * 4U);
}

}  // namespace
}  // namespace triax
