// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/rows.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace triax {
namespace {

class RowsView : public testing::Test {
 protected:
  std::vector<float> values_ = std::vector<float>(24);
  Tensor matrix_ = Tensor(values_.data(), {4, 6});
};

TEST_F(RowsView, FollowTheStrideOfAColumnSlice) {
  const Rows<float> rows = rows_of(matrix_.slice(1, 2, 3), "x");
  EXPECT_EQ(rows.rows, 4);
  EXPECT_EQ(rows.columns, 3);
  EXPECT_EQ(rows[2], values_.data() + 14);
}

TEST_F(RowsView, RefuseWhatIsNoMatrixOfTheType) {
  EXPECT_THROW(rows_of(matrix_.flat(), "x"), Error);
  EXPECT_THROW(rows_of(matrix_.transposed(), "x"), Error);
  EXPECT_THROW(rows_of(Tensor(values_.data(), DType::i32, {4, 6}), "x"), Error);
  EXPECT_THROW(rows_of<Bf16>(matrix_, "x"), Error);
  EXPECT_EQ(rows_of<Bf16>(Tensor(values_.data(), DType::bf16, {4, 6}), "x").rows, 4);
}

TEST_F(RowsView, OfOneShapeOnly) {
  const Rows<float> rows = rows_of(matrix_, "x");
  EXPECT_EQ(rows_like(matrix_, rows, "y").data, rows.data);
  EXPECT_THROW(rows_like(matrix_.reshape({6, 4}), rows, "y"), Error);
}

TEST_F(RowsView, ElementsAreContiguousAndCounted) {
  EXPECT_EQ(elements_of(matrix_, 24, "x"), values_.data());
  EXPECT_THROW(elements_of(matrix_, 23, "x"), Error);
  EXPECT_THROW(elements_of(matrix_.slice(1, 0, 3), 12, "x"), Error);
  EXPECT_THROW(elements_of<std::int32_t>(matrix_, 24, "x"), Error);
}

}  // namespace
}  // namespace triax
