// What a device's BLAS is asked for. That the described products are the right ones is seen where
// test_matmul runs on the emulated device, which executes them in plain loops.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/cuda/blas.hpp"

namespace triax::cuda {
namespace {

constexpr DType f32 = DType::f32;
constexpr DType bf16 = DType::bf16;

// Views of memory that nobody reads.
Tensor matrix(std::int64_t rows, std::int64_t columns, DType type = bf16, int misaligned = 0) {
  auto* data = reinterpret_cast<char*>(std::uintptr_t{4096}) + misaligned;
  return {data, type, {rows, columns}, MemorySpace::device};
}

TEST(BlasProduct, SwapsTheOperandsOfRows) {
  // A layer: y (B, out) = x (B, in) w^T with w (out, in).
  const BlasProduct forward =
      blas_product(matrix(6, 5), matrix(6, 4), matrix(5, 4).transposed(), false, true);
  const BlasProduct expected = {.rows = 5,
                                .columns = 6,
                                .depth = 4,
                                .left = {true, 4, 16},
                                .right = {false, 4, 16},
                                .d = {false, 5, 16},
                                .type = bf16,
                                .d_type = bf16,
                                .bias = true};
  EXPECT_EQ(forward, expected);
  // Its gradients: dx = dy w, dw += dy^T x in float32.
  const BlasProduct input = blas_product(matrix(6, 4), matrix(6, 5), matrix(5, 4), false, false);
  EXPECT_EQ(input.left, (BlasOperand{false, 4, 16}));
  EXPECT_EQ(input.right, (BlasOperand{false, 5, 16}));
  const BlasProduct weight =
      blas_product(matrix(5, 4, f32), matrix(6, 5).transposed(), matrix(6, 4), true, false);
  EXPECT_EQ(weight.left, (BlasOperand{false, 4, 16}));
  EXPECT_EQ(weight.right, (BlasOperand{true, 5, 16}));
  EXPECT_EQ(weight.depth, 6);
  EXPECT_TRUE(weight.accumulate);
  EXPECT_EQ(weight.d_type, f32);
}

TEST(BlasProduct, TakesColumnsOfAWiderMatrix) {
  const Tensor wide = matrix(6, 12).slice(1, 8, 4);
  const BlasProduct product =
      blas_product(matrix(6, 24).slice(1, 3, 5), wide, matrix(4, 5), false, false);
  EXPECT_EQ(product.right, (BlasOperand{false, 12, 16}));
  EXPECT_EQ(product.d, (BlasOperand{false, 24, 2})) << "3 elements from an aligned row";
}

TEST(BlasProduct, StridesOfOneElementSayNothing) {
  const Tensor column = matrix(7, 9).slice(1, 2, 1);  // (7, 1) with strides 9, 9 or 1
  EXPECT_EQ(blas_product(matrix(7, 3), column, matrix(1, 3), false, false).right,
            (BlasOperand{false, 9, 4}));
  EXPECT_EQ(blas_product(matrix(1, 3), column.transposed(), matrix(7, 3), false, false).right,
            (BlasOperand{true, 9, 4}));
  const Tensor row = matrix(1, 5).restrided({1, 5}, {1, 1});
  EXPECT_EQ(blas_product(matrix(1, 3), row, matrix(5, 3), false, false).right.stride, 5);
  EXPECT_EQ(blas_product(row, matrix(1, 2), matrix(2, 5), false, false).d.stride, 5);
}

TEST(BlasProduct, AlignmentIsOfTheAddressAndAtMostOneAccess) {
  for (const auto& [misaligned, expected] :
       std::vector<std::pair<int, int>>{{0, 16}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {256, 16}})
    EXPECT_EQ(blas_product(matrix(8, 8, bf16, misaligned), matrix(8, 8), matrix(8, 8), false, false)
                  .d.alignment,
              expected);
}

TEST(BlasProduct, ErrorsSayItInOurOrder) {
  EXPECT_EQ(blas_product(matrix(6, 5, f32), matrix(6, 4), matrix(4, 5), false, false).text(),
            "(6, 4) of bf16 by (4, 5) into f32");
}

using Multiply = ProductSteps::Multiply;

TEST(ProductSteps, TheLibraryAddsABiasOfTheResultsType) {
  for (const DType type : {f32, bf16}) {
    const ProductSteps steps = product_steps(matrix(4, 8, type), 3, {.bias = matrix(1, 8, type)});
    EXPECT_EQ(steps, (ProductSteps{Multiply::into_c, true, false}));
  }
  EXPECT_EQ(product_steps(matrix(4, 8), 3, {.accumulate = true}),
            (ProductSteps{Multiply::into_c, false, false}));
}

TEST(ProductSteps, AKernelAddsWhatTheLibraryCannot) {
  // A sum in float32 is complete before its bias comes; one in bf16 would be rounded twice.
  EXPECT_EQ(product_steps(matrix(4, 8, f32), 3, {.bias = matrix(1, 8)}),
            (ProductSteps{Multiply::into_c, false, true}));
  EXPECT_EQ(product_steps(matrix(4, 8), 3, {.bias = matrix(1, 8, f32)}),
            (ProductSteps{Multiply::into_sums, false, true}));
}

TEST(ProductSteps, ASumOverNothing) {
  EXPECT_EQ(product_steps(matrix(4, 8), 0, {}), (ProductSteps{Multiply::no, false, true}));
  EXPECT_EQ(product_steps(matrix(4, 8), 0, {.accumulate = true}),
            (ProductSteps{Multiply::no, false, false}));
  EXPECT_EQ(product_steps(matrix(4, 8), 0, {.accumulate = true, .bias = matrix(1, 8)}),
            (ProductSteps{Multiply::no, false, true}));
}

TEST(ProductSteps, RowsOfSumsFitTheirMemory) {
  for (const std::int64_t columns : {1L, 768L, 50257L, 151936L}) {
    const std::int64_t rows = product_sums_rows(columns);
    EXPECT_GE(rows, 1);
    EXPECT_LE(static_cast<std::size_t>(rows * columns) * sizeof(float), product_sums_bytes);
  }
  EXPECT_THROW(product_sums_rows(std::int64_t{1} << 23), Error);
}

}  // namespace
}  // namespace triax::cuda
