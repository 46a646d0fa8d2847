// SPDX-License-Identifier: Apache-2.0
// How products are described to a device's BLAS. test_matmul on the emulated device, which executes
// the descriptions, tests that they are the right products.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/check.hpp"
#include "kernels/cuda/matmul/blas.hpp"

namespace triax::cuda {
namespace {

constexpr DType f32 = DType::f32;
constexpr DType bf16 = DType::bf16;

// Views of memory that is never read.
Tensor matrix(std::int64_t rows, std::int64_t columns, DType type = bf16, int misaligned = 0) {
  auto* data = reinterpret_cast<char*>(std::uintptr_t{4096}) + misaligned;
  return {data, type, {rows, columns}, MemorySpace::device};
}

Tensor row(std::int64_t columns, DType type = bf16, int misaligned = 0) {
  return matrix(1, columns, type, misaligned).flat();
}

TEST(BlasProduct, SwapsTheOperandsOfRows) {
  // A layer: y (B, out) = x (B, in) w^T with w (out, in).
  const BlasProduct forward = blas_product(matrix(6, 5), matrix(6, 4), matrix(5, 4).transposed(),
                                           false, {BlasEpilogue::bias, row(5)});
  const BlasProduct expected = {.rows = 5,
                                .columns = 6,
                                .depth = 4,
                                .left = {true, 4, 16},
                                .right = {false, 4, 16},
                                .d = {false, 5, 16},
                                .type = bf16,
                                .d_type = bf16,
                                .epilogue = BlasEpilogue::bias,
                                .bias_alignment = 16};
  EXPECT_EQ(forward, expected);
  // Its gradients: dx = dy w, and dw += dy^T x in float32.
  const BlasProduct input = blas_product(matrix(6, 4), matrix(6, 5), matrix(5, 4), false);
  EXPECT_EQ(input.left, (BlasOperand{false, 4, 16}));
  EXPECT_EQ(input.right, (BlasOperand{false, 5, 16}));
  const BlasProduct weight =
      blas_product(matrix(5, 4, f32), matrix(6, 5).transposed(), matrix(6, 4), true);
  EXPECT_EQ(weight.left, (BlasOperand{false, 4, 16}));
  EXPECT_EQ(weight.right, (BlasOperand{true, 5, 16}));
  EXPECT_EQ(weight.depth, 6);
  EXPECT_TRUE(weight.accumulate);
  EXPECT_EQ(weight.d_type, f32);
}

TEST(BlasProduct, TakesColumnsOfAWiderMatrix) {
  const Tensor wide = matrix(6, 12).slice(1, 8, 4);
  const BlasProduct product = blas_product(matrix(6, 24).slice(1, 3, 5), wide, matrix(4, 5), false);
  EXPECT_EQ(product.right, (BlasOperand{false, 12, 16}));
  EXPECT_EQ(product.d, (BlasOperand{false, 24, 2})) << "3 elements from an aligned row";
}

TEST(BlasProduct, StridesOfOneElementSayNothing) {
  const Tensor column = matrix(7, 9).slice(1, 2, 1);  // (7, 1) with strides 9, 9 or 1
  EXPECT_EQ(blas_product(matrix(7, 3), column, matrix(1, 3), false).right,
            (BlasOperand{false, 9, 4}));
  EXPECT_EQ(blas_product(matrix(1, 3), column.transposed(), matrix(7, 3), false).right,
            (BlasOperand{true, 9, 4}));
  const Tensor row = matrix(1, 5).restrided({1, 5}, {1, 1});
  EXPECT_EQ(blas_product(matrix(1, 3), row, matrix(5, 3), false).right.stride, 5);
  EXPECT_EQ(blas_product(row, matrix(1, 2), matrix(2, 5), false).d.stride, 5);
}

TEST(BlasProduct, AlignmentIsOfTheAddressAndAtMostOneAccess) {
  for (const auto& [misaligned, expected] :
       std::vector<std::pair<int, int>>{{0, 16}, {2, 2}, {4, 4}, {8, 8}, {16, 16}, {256, 16}})
    EXPECT_EQ(
        blas_product(matrix(8, 8, bf16, misaligned), matrix(8, 8), matrix(8, 8), false).d.alignment,
        expected);
}

TEST(BlasProduct, ErrorsSayItInOurOrder) {
  EXPECT_EQ(blas_product(matrix(6, 5, f32), matrix(6, 4), matrix(4, 5), false).text(),
            "(6, 4) of bf16 by (4, 5) into f32");
}

TEST(BlasProduct, WhatGoesWithAnEpilogue) {
  const Tensor aux = matrix(6, 8);
  const BlasProduct product = blas_product(matrix(6, 8), matrix(6, 4), matrix(4, 8), false,
                                           {BlasEpilogue::gelu_bias, row(8, bf16, 4), aux});
  EXPECT_EQ(product.epilogue, BlasEpilogue::gelu_bias);
  EXPECT_EQ(product.bias_alignment, 4);
  EXPECT_EQ(product.aux_stride, 8);
}

TEST(BlasProduct, CodesLieAlongTheDepth) {
  const auto codes = [](std::int64_t rows, std::int64_t columns) {
    return matrix(rows, columns, DType::u8);
  };
  const BlasProduct product =
      code_product(matrix(48, 32), {codes(48, 64), codes(32, 64), Float8::e5m2, Float8::e4m3},
                   {.bias = row(32)});
  const BlasProduct expected = {.rows = 32,
                                .columns = 48,
                                .depth = 64,
                                .left = {true, 64, 16, Float8::e4m3},
                                .right = {false, 64, 16, Float8::e5m2},
                                .d = {false, 32, 16},
                                .type = DType::u8,
                                .d_type = bf16,
                                .epilogue = BlasEpilogue::bias,
                                .bias_alignment = 16};
  EXPECT_EQ(product, expected);
  EXPECT_EQ(product.text(), "(48, 64) of fp8 by (64, 32) into bf16");
}

TEST(BlasProduct, WhichCodesTheLibraryMultiplies) {
  constexpr Float8 e4m3 = Float8::e4m3;
  constexpr Float8 e5m2 = Float8::e5m2;
  const auto can = [](const Tensor& c, std::int64_t depth, Float8 a, Float8 b,
                      const Tensor& bias = {}) { return can_multiply_codes(c, depth, a, b, bias); };
  for (const DType type : {f32, bf16}) {
    EXPECT_TRUE(can(matrix(48, 32, type), 64, e4m3, e4m3));
    EXPECT_TRUE(can(matrix(48, 32, type), 64, e5m2, e4m3));
    EXPECT_TRUE(can(matrix(48, 32, type), 64, e4m3, e5m2));
  }
  EXPECT_TRUE(can(matrix(48, 32), 64, e4m3, e4m3, row(32)));
  EXPECT_FALSE(can(matrix(48, 32), 64, e5m2, e5m2)) << "no product of two gradients";
  EXPECT_FALSE(can(matrix(48, 32, DType::f16), 64, e4m3, e4m3));
  EXPECT_FALSE(can(matrix(48, 32, f32), 64, e4m3, e4m3, row(32)));
  EXPECT_FALSE(can(matrix(48, 32), 64, e4m3, e4m3, row(32, f32)));
  EXPECT_FALSE(can(matrix(40, 32), 64, e4m3, e4m3)) << "no multiples of 16";
  EXPECT_FALSE(can(matrix(48, 40), 64, e4m3, e4m3));
  EXPECT_FALSE(can(matrix(48, 32), 72, e4m3, e4m3));
  EXPECT_FALSE(can(matrix(48, 32), 0, e4m3, e4m3));
  EXPECT_FALSE(can(matrix(48, 32, bf16, 8), 64, e4m3, e4m3)) << "not aligned";
}

using Multiply = ProductSteps::Multiply;

// Steps of (4, 3) by (3, 8) with 16-bit operands.
ProductSteps steps(const Tensor& c, const MatmulOptions& options, bool fused = true,
                   const Tensor& a = matrix(4, 3)) {
  return product_steps(c, a, options, fused);
}

TEST(ProductSteps, TheLibraryAddsABiasOfTheResultsType) {
  for (const DType type : {f32, bf16})
    EXPECT_EQ(steps(matrix(4, 8, type), {.bias = row(8, type)}),
              (ProductSteps{Multiply::into_c, BlasEpilogue::bias}));
  EXPECT_EQ(steps(matrix(4, 8), {.accumulate = true}), ProductSteps{});
}

TEST(ProductSteps, AKernelAddsWhatTheLibraryCannot) {
  // A float32 sum is complete before the bias is added; a bf16 sum would be rounded twice.
  EXPECT_EQ(steps(matrix(4, 8, f32), {.bias = row(8)}),
            (ProductSteps{.multiply = Multiply::into_c, .finish = true}));
  EXPECT_EQ(steps(matrix(4, 8), {.bias = row(8, f32)}),
            (ProductSteps{.multiply = Multiply::into_sums, .finish = true}));
}

TEST(ProductSteps, ASumOverNothing) {
  const auto nothing = [](const MatmulOptions& options) {
    return steps(matrix(4, 8), options, true, matrix(4, 0));
  };
  EXPECT_EQ(nothing({}), (ProductSteps{.multiply = Multiply::no, .finish = true}));
  EXPECT_EQ(nothing({.accumulate = true}), (ProductSteps{.multiply = Multiply::no}));
  EXPECT_EQ(nothing({.accumulate = true, .bias = row(8)}),
            (ProductSteps{.multiply = Multiply::no, .finish = true}));
  EXPECT_EQ(nothing({.gelu_input = matrix(4, 8)}),
            (ProductSteps{.multiply = Multiply::no, .finish = true, .gelu = true}));
  EXPECT_EQ(nothing({.bias_gradient = {.sums = row(8)}}),
            (ProductSteps{.multiply = Multiply::no, .finish = true, .bias_gradient = true}));
}

TEST(ProductSteps, TheLibraryMakesGelu) {
  const Tensor c = matrix(4, 8);
  EXPECT_EQ(steps(c, {.gelu_input = matrix(4, 8)}), (ProductSteps{.epilogue = BlasEpilogue::gelu}));
  EXPECT_EQ(steps(c, {.bias = row(8), .gelu_input = matrix(4, 8)}),
            (ProductSteps{.epilogue = BlasEpilogue::gelu_bias}));
  EXPECT_EQ(steps(c, {.gelu_gradient = {matrix(4, 8), matrix(4, 8)}}),
            (ProductSteps{.epilogue = BlasEpilogue::gelu_gradient}));
}

TEST(ProductSteps, AKernelMakesGeluWhereTheLibraryHasNone) {
  const ProductSteps plain{.gelu = true};
  const ProductSteps with_bias{.epilogue = BlasEpilogue::bias, .gelu = true};
  const Tensor ragged = matrix(4, 12);  // rows of 24 bytes: not a multiple of 8 elements
  const Tensor beside = matrix(4, 8, bf16, 8);
  const Tensor wide = matrix(4, 8, f32);
  for (const Tensor& aux : {ragged, beside, wide}) {
    const Tensor c = matrix(4, aux.size(1), aux.dtype());
    EXPECT_EQ(steps(c, {.gelu_input = aux}), plain);
    EXPECT_EQ(steps(c, {.bias = row(aux.size(1), aux.dtype()), .gelu_input = aux}), with_bias);
    EXPECT_EQ(steps(c, {.gelu_gradient = {aux, c}}), plain);
  }
  // The library found no algorithm.
  EXPECT_EQ(steps(matrix(4, 8), {.gelu_input = matrix(4, 8)}, false), plain);
  EXPECT_EQ(steps(matrix(4, 8), {.bias = row(8), .gelu_input = matrix(4, 8)}, false), with_bias);
  // A bias that the library cannot add must be added before GELU.
  EXPECT_EQ(steps(matrix(4, 8), {.bias = row(8, f32), .gelu_input = matrix(4, 8)}),
            (ProductSteps{.multiply = Multiply::into_sums, .finish = true, .gelu = true}));
}

TEST(ProductSteps, AKernelSumsAnOperand) {
  const ProductSteps by_kernel{.bias_gradient = true};
  using Of = BiasGradient::Of;
  for (const DType type : {f32, bf16}) {
    const Tensor c = matrix(4, 8, type);
    EXPECT_EQ(steps(c, {.bias_gradient = {row(8, type), Of::b}}), by_kernel);
    EXPECT_EQ(steps(c, {.accumulate = true, .bias_gradient = {row(4, type), Of::a}}), by_kernel);
  }
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
