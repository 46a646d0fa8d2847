// SPDX-License-Identifier: Apache-2.0
// Calls of matmul: which library multiplies, the same bits on each call, no allocations, refused
// operands.
#include <gtest/gtest.h>
#include <omp.h>

#include "kernels/isa/isa.hpp"
#include "kernels/matmul/product.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"
#include "kernels/reference/matmul.hpp"
#include "tests/kernels/matmul_operands.hpp"
#include "tests/support/allocation_count.hpp"

namespace triax::test {
namespace {

// The depth of tiles, which decides the order of sums, does not depend on threads.
TEST(Matmul, TheDepthOfBlocksDoesNotDependOnThreads) {
  for (const Types& types : all_types)
    for (const Lie lie : {Lie::plain, Lie::transposed}) {
      const Matrix a(70, 16500, lie, 1, types.operands);
      const Matrix b(16500, 8, Lie::plain, 2, types.operands);
      const Matrix c(70, 8, Lie::plain, 3, types.c);
      const gemm::Operands x{.c = c.view(), .a = a.view(), .b = b.view()};
      const std::int64_t depth = gemm::block_sizes(x, 1).k;
      EXPECT_LT(depth, 16500);
      for (const std::int64_t threads : {2, 3, 64})
        EXPECT_EQ(gemm::block_sizes(x, threads).k, depth);
    }
}

// oneDNN reads it unpacked there: few rows, and a weight stored (outputs, inputs).
TEST(Matmul, ColumnsAreCutOnAvx2WhereNothingIsPacked) {
  const auto columns = [](std::int64_t rows, Lie lie, DType type, std::int64_t threads) {
    const Matrix a(rows, 8, Lie::plain, 1, type);
    const Matrix b(8, 2000, lie, 2, type);
    const Matrix c(rows, 2000, Lie::plain, 3, type);
    return gemm::block_sizes({.c = c.view(), .a = a.view(), .b = b.view()}, threads).n;
  };
#ifdef __x86_64__
  const bool avx2 = isa_in_use() == Isa::avx2;
#else
  const bool avx2 = false;
#endif
  for (const std::int64_t rows : {2, 256, 263}) {
    EXPECT_EQ(columns(rows, Lie::transposed, f32, 1), avx2 ? 384 : 2000);
    EXPECT_EQ(columns(rows, Lie::transposed, f32, 2), 2000);
    EXPECT_EQ(columns(rows, Lie::plain, f32, 1), 2000);
    EXPECT_EQ(columns(rows, Lie::transposed, bf16, 1), 2000);
  }
  for (const std::int64_t rows : {1, 264}) EXPECT_EQ(columns(rows, Lie::transposed, f32, 1), 2000);
}

TEST(Matmul, TheSameBitsOnAnyNumberOfThreads) {
  const int before = omp_get_max_threads();
  for (const DType type : {f32, bf16})
    for (const Lie lie : {Lie::plain, Lie::transposed}) {
      const Matrix a(300, 8300, lie, 1, type);
      const Matrix b(8300, 260, lie, 2, type);
      std::vector<std::vector<double>> results;
      for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        const Matrix c(300, 260, Lie::plain, 3, type);
        multiply(c.view(), a.view(), b.view(), {.accumulate = true});
        results.push_back(to_double(c.view()));
      }
      EXPECT_EQ(results[1], results[0]);
      EXPECT_EQ(results[2], results[0]);
    }
  omp_set_num_threads(before);
}

// A cached primitive, or memory kept for tiles, must not remember the previous operands.
TEST(Matmul, TheSameCallWithOtherMemory) {
  for (DType type : {f32, bf16, f16})
    for (unsigned seed : {1U, 2U}) {
      const Matrix a(6, 8, Lie::plain, seed, type);
      const Matrix b(8, 10, Lie::plain, seed + 10, type);
      std::vector<float> c(60);
      multiply(Tensor(c.data(), {6, 10}), a.view(), b.view());
      const auto expected = reference::matmul(to_double(a.view()), to_double(b.view()), 6, 10, 8);
      for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i], expected[i], 1e-5);
    }
}

TEST(Matmul, TheSameBitsAgain) {
  for (const Types& types : all_types) {
    const Matrix a(65, 300, Lie::transposed, 1, types.operands);
    const Matrix b(300, 70, Lie::plain, 2, types.operands);
    const Matrix c(65, 70, Lie::plain, 3, types.c);
    multiply(c.view(), a.view(), b.view());
    const auto first = to_double(c.view());
    multiply(c.view(), a.view(), b.view());
    EXPECT_EQ(to_double(c.view()), first);
  }
}

// oneDNN itself allocates a few small objects per call. Our code allocates none.
TEST(Matmul, WarmCallsAllocateNothingOfOurs) {
  constexpr long of_onednn = 10;
  for (const Types& types : all_types) {
    const Matrix a(33, 40, Lie::plain, 1, types.operands);
    const Matrix b(40, 50, Lie::plain, 2, types.operands);
    const Matrix c(33, 50, Lie::plain, 3, types.c);
    const Matrix bias(1, 50, Lie::plain, 4, types.bias);
    const MatmulOptions options{.accumulate = true, .bias = bias.view().flat()};
    matmul(Stream(), c.view(), a.view(), b.view(), options);
    const long before = allocation_count();
    matmul(Stream(), c.view(), a.view(), b.view(), options);
    EXPECT_LE(allocation_count() - before, of_onednn);
  }
}

// Tests cover both ways: ctest repeats them with TRIAX_ISA=avx2 and avx512, which limits oneDNN
// too.
TEST(Matmul, WhoMultipliesBfloat16) {
  const Matrix a(4, 5, Lie::plain, 1, bf16);
  const Matrix b(5, 3, Lie::plain, 2, bf16);
  const Matrix c(4, 3, Lie::plain, 3, bf16);
  const bool vendor = gemm::vendor_product({.c = c.view(), .a = a.view(), .b = b.view()});
#ifdef __x86_64__
  EXPECT_EQ(vendor, pair_products_pay());
#endif
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const Matrix a(4, 5, Lie::plain, 1);
  const Matrix b(6, 3, Lie::plain, 2);
  const Matrix c(4, 3, Lie::plain, 3);
  EXPECT_THROW(multiply(c.view(), a.view(), b.view()), Error);
  std::vector<std::int32_t> integers(15);
  EXPECT_THROW(multiply(c.view(), a.view(), Tensor(integers.data(), {5, 3})), Error);
}

TEST(Matmul, RefusesOtherMixturesOfTypes) {
  const auto product = [](DType a, DType b, DType c, DType bias) {
    const Matrix left(4, 5, Lie::plain, 1, a);
    const Matrix right(5, 3, Lie::plain, 2, b);
    const Matrix out(4, 3, Lie::plain, 3, c);
    const Matrix row(1, 3, Lie::plain, 4, bias);
    multiply(out.view(), left.view(), right.view(), {.bias = row.view().flat()});
  };
  EXPECT_NO_THROW(product(bf16, bf16, f32, bf16));
  EXPECT_THROW(product(bf16, f32, f32, f32), Error);
  EXPECT_THROW(product(bf16, f16, f32, f32), Error);
  EXPECT_THROW(product(f32, f32, bf16, f32), Error);
  EXPECT_THROW(product(bf16, bf16, f16, bf16), Error);
  EXPECT_THROW(product(bf16, bf16, bf16, f16), Error);
  EXPECT_THROW(product(f32, f32, f32, bf16), Error);
}

}  // namespace
}  // namespace triax::test
