// SPDX-License-Identifier: Apache-2.0
#include "src/inference/grid/step_control.hpp"

#include <gtest/gtest.h>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

StepBatch some_batch() {
  StepBatch batch;
  batch.tokens = {5, 6, 7, 8};
  batch.positions = {0, 1, 2, 17};
  batch.chunks = {{3, 0, 0}, {1, 17, 1}};
  batch.tables = {4, 9, 2};
  batch.logit_rows = {2, 3};
  batch.hidden_rows = {0, 1, 2};
  return batch;
}

TEST(StepNumbers, HoldTheBatch) {
  const auto found = batch_of(numbers_of(some_batch()));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tokens, some_batch().tokens);
  EXPECT_EQ(found->positions, some_batch().positions);
  EXPECT_EQ(found->tables, some_batch().tables);
  EXPECT_EQ(found->logit_rows, some_batch().logit_rows);
  EXPECT_EQ(found->hidden_rows, some_batch().hidden_rows);
  ASSERT_EQ(found->chunks.size(), 2U);
  EXPECT_EQ(found->chunks[1].past, 17);
  EXPECT_EQ(found->chunks[1].table, 1);
  EXPECT_FALSE(batch_of({}));
  EXPECT_THROW(batch_of(std::vector<std::int32_t>{1, 2, 3, 4, 5}), Error);
}

TEST(StepControl, AnnouncesStepsToEveryRankOfAReplica) {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int tensor = ranks % 2 == 0 ? 2 : 1;
  ProcessGrid grid(MPI_COMM_WORLD, {.pipeline = ranks / tensor, .tensor = tensor});
  StepControl control(grid);
  if (control.leads()) {
    for (int step = 1; step <= 5; ++step) {
      StepBatch batch = some_batch();
      batch.tables.assign(static_cast<std::size_t>(step) * 1000, step);  // the last in two messages
      control.announce(batch);
    }
    return control.end();
  }
  for (std::size_t step = 1; step <= 5; ++step) {
    const auto batch = control.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->tables, std::vector<std::int32_t>(step * 1000, static_cast<int>(step)));
    EXPECT_EQ(batch->tokens, some_batch().tokens);
  }
  EXPECT_FALSE(control.next());
}

}  // namespace
}  // namespace triax
