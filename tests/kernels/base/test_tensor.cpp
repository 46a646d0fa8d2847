// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace triax {
namespace {

TEST(Shape, ElementsAndText) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({2, 0}).elements(), 0);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({2, 3}).text(), "(2, 3)");
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_FALSE(Shape({2}) == Shape({2, 1}));
}

TEST(Shape, RefusesTooManyOrNegativeSizes) {
  EXPECT_THROW(Shape({1, 1, 1, 1, 1}), Error);
  EXPECT_THROW(Shape({-1}), Error);
}

class TensorView : public testing::Test {
 protected:
  TensorView() : values_(24), tensor_(values_.data(), {4, 6}) {
    std::iota(values_.begin(), values_.end(), 0.0F);
  }
  std::vector<float> values_;
  Tensor tensor_;
};

TEST_F(TensorView, IsRowMajor) {
  EXPECT_EQ(tensor_.rank(), 2);
  EXPECT_EQ(tensor_.stride(0), 6);
  EXPECT_EQ(tensor_.stride(1), 1);
  EXPECT_EQ(tensor_.bytes(), 96);
  EXPECT_TRUE(tensor_.contiguous());
  EXPECT_FALSE(tensor_.empty());
}

TEST_F(TensorView, SliceOfRowsIsContiguousAndOfColumnsIsNot) {
  const Tensor rows = tensor_.slice(0, 1, 2);
  EXPECT_EQ(rows.as<float>()[0], 6.0F);
  EXPECT_EQ(rows.shape(), Shape({2, 6}));
  EXPECT_TRUE(rows.contiguous());
  const Tensor columns = tensor_.slice(1, 2, 3);
  EXPECT_EQ(columns.as<float>()[0], 2.0F);
  EXPECT_EQ(columns.stride(0), 6);
  EXPECT_FALSE(columns.contiguous());
  EXPECT_TRUE(tensor_.slice(0, 1, 1).slice(1, 2, 3).contiguous())
      << "one row of a slice has no gaps";
}

TEST_F(TensorView, SliceRefusesWhatIsOutside) {
  EXPECT_THROW(tensor_.slice(0, 3, 2), Error);
  EXPECT_THROW(tensor_.slice(0, -1, 1), Error);
  EXPECT_THROW(tensor_.slice(2, 0, 1), Error);
  EXPECT_EQ(tensor_.slice(0, 4, 0).elements(), 0);
}

TEST_F(TensorView, Transposed) {
  const Tensor t = tensor_.transposed();
  EXPECT_EQ(t.shape(), Shape({6, 4}));
  EXPECT_EQ(t.as<float>()[5 * t.stride(0) + 3 * t.stride(1)], 23.0F);
  EXPECT_FALSE(t.contiguous());
  EXPECT_THROW(tensor_.flat().transposed(), Error);
}

TEST_F(TensorView, ReshapeNeedsContiguityAndTheSameCount) {
  EXPECT_EQ(tensor_.reshape({2, 2, 6}).stride(0), 12);
  EXPECT_EQ(tensor_.flat().shape(), Shape({24}));
  EXPECT_THROW(tensor_.reshape({5, 5}), Error);
  EXPECT_THROW(tensor_.slice(1, 0, 2).reshape({8}), Error);
}

TEST_F(TensorView, Restrided) {
  const Tensor heads = tensor_.slice(1, 2, 4).restrided({4, 2, 2}, {6, 2, 1});
  EXPECT_EQ(heads.as<float>()[1 * 6 + 1 * 2 + 1], 11.0F);
  EXPECT_THROW(tensor_.restrided({4, 6}, {1}), Error);
}

TEST_F(TensorView, ReadOnlyAsItsOwnType) {
  EXPECT_EQ(tensor_.as<const float>(), tensor_.data());
  EXPECT_THROW(tensor_.as<double>(), Error);
  EXPECT_THROW(tensor_.as<std::int32_t>(), Error);
}

TEST(Tensor, DefaultIsEmptyAndSlicesOfNullStayNull) {
  EXPECT_TRUE(Tensor().empty());
  const Tensor null(nullptr, DType::bf16, {4, 4});
  EXPECT_EQ(null.bytes(), 32);
  EXPECT_EQ(null.slice(0, 2, 1).data(), nullptr);
}

}  // namespace
}  // namespace triax
