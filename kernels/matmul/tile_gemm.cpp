// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/tile_gemm.hpp"

#include "kernels/matmul/tile_gemm_blocks.hpp"
#include "kernels/simd/simd.hpp"

namespace triax {
namespace {

static_assert(widest_vector % vector_floats == 0);

// The block of c stays in registers: with a row of b and one element of a it fills the register
// file, and its independent sums cover the latency of the multiply-adds.
struct FloatKernel {
  static constexpr int rows = 6, vectors = vector_registers == 32 ? 4 : 2;
  static constexpr int lanes = vector_floats, depths = 1;

  // c[m0 .. m0 + Rows)[n0 .. n0 + Vectors whole vectors) over depth [k.begin, k.end).
  template <int Rows, int Vectors>
  static void block(const TileProduct& p, std::int64_t m0, std::int64_t n0, DepthRange k) {
    const std::int64_t row_stride = p.a_row_stride;
    const float* a = p.a + m0 * row_stride + k.begin * p.a_depth_stride;
    const float* b = p.b + k.begin * p.b_stride + n0;
    float* c = p.c + m0 * p.c_stride + n0;
    FloatVector sum[Rows][Vectors] = {};
    for (std::int64_t i = k.begin; i < k.end; ++i, a += p.a_depth_stride, b += p.b_stride) {
      FloatVector row[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * vector_floats);
#pragma GCC unroll 6
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) {
          const FloatVector factor = FloatVector{} + a[r * row_stride];
          sum[r][v] = multiply_add(factor, row[v], sum[r][v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        float* out = c + r * p.c_stride + v * vector_floats;
        store(out, p.accumulate ? load(out) + sum[r][v] : sum[r][v]);
      }
  }
};

}  // namespace

void tile_product(const TileProduct& p) {
  TileBlocks<FloatKernel>::run(p);
}

}  // namespace triax
