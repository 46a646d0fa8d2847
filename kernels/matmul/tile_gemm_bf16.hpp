// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of tiles of bfloat16, two depths a multiply-add (AVX512-BF16's vdpbf16ps), with float32
// sums: what kernels/matmul/tile_gemm.hpp is for float32. A word holds two neighbours along the
// depth, the earlier one in its lower half. Subnormal numbers count as zero.
#include <cstdint>

#include "kernels/matmul/tile_gemm.hpp"

namespace triax {

/// True if the ISA level in use has pair products; the functions below must not be called
/// otherwise.
bool has_pair_products();

/// True if pair products are faster than float32 products of the widened numbers. They are not on
/// Intel's processors from Sapphire Rapids on when AMX cannot be used (hidden by a virtual machine,
/// say): vdpbf16ps takes 2.5 cycles there (100 GFLOP/s of attention against 170 widened, on a
/// Xeon). On Zen 4 they reach one and a half times float32's rate.
bool pair_products_pay();

/// Reserves the tile registers for pair products of the calling thread while it lives; no other
/// user of tile registers (oneDNN) may run meanwhile.
class PairRegisters {
 public:
  PairRegisters();
  ~PairRegisters();
  PairRegisters(const PairRegisters&) = delete;
  PairRegisters& operator=(const PairRegisters&) = delete;
};

/// c = a b, or c += a b with `accumulate`.
struct PairProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;          // rounded up to whole_pair_columns: b and c have room for that
  std::int64_t depth = 0;            // in words
  const std::uint32_t* a = nullptr;  // word k of row m at m * a_row_stride + k * a_depth_stride
  std::int64_t a_row_stride = 0;
  std::int64_t a_depth_stride = 0;
  const std::uint32_t* b = nullptr;  // word k of column n at k * b_stride + n
  std::int64_t b_stride = 0;
  float* c = nullptr;  // c[m][n] at m * c_stride + n
  std::int64_t c_stride = 0;
  bool accumulate = false;
  Triangle triangle = Triangle::none;  // by elements, not words
};

/// Computes the product in a fixed order: the same operands give the same bits. Requires a living
/// PairRegisters.
void pair_product(const PairProduct& product);

/// Columns of b and c that a product of `n` may touch.
constexpr std::int64_t whole_pair_columns(std::int64_t n) {
  return (n + 15) / 16 * 16;
}

/// Rounds a float32 tile to pairs of neighbours along a row: to (rows, columns / 2). columns: a
/// multiple of 32.
void pairs_along_rows(std::uint32_t* to, const float* tile, std::int64_t rows,
                      std::int64_t columns);

/// Rounds a float32 tile to pairs of neighbours along a column: to ((rows + 1) / 2, columns); an
/// odd last row is paired with zeros. columns: a multiple of 16.
void pairs_along_columns(std::uint32_t* to, const float* tile, std::int64_t rows,
                         std::int64_t columns);

}  // namespace triax
