// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of tiles that lie in the nearest cache, for kernels that fuse them with other work
// (attention). Larger matrices go to kernels/matmul/matmul.hpp.
#include <cstdint>

namespace triax {

/// Which elements of a square tile on the causal diagonal need no work.
enum class Triangle : std::uint8_t {
  none,
  c_lower,  // c[m][n] is wanted for n <= m only; others may be written or not
  a_lower,  // a[m][k] is zero for k > m
  a_upper,  // a[m][k] is zero for k < m
};

/// c = a b, or c += a b with `accumulate`.
struct TileProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // rounded up to whole vectors: b and c have room for that
  std::int64_t depth = 0;
  const float* a = nullptr;  // a[m][k] at m * a_row_stride + k * a_depth_stride
  std::int64_t a_row_stride = 0;
  std::int64_t a_depth_stride = 0;
  const float* b = nullptr;  // b[k][n] at k * b_stride + n
  std::int64_t b_stride = 0;
  float* c = nullptr;  // c[m][n] at m * c_stride + n
  std::int64_t c_stride = 0;
  bool accumulate = false;
  Triangle triangle = Triangle::none;
};

/// Computes the product in a fixed order: the same operands give the same bits.
void tile_product(const TileProduct& product);

/// Floats of the widest vectors of any processor. Tiles are laid out for them on every processor,
/// so that memory is planned alike everywhere.
inline constexpr std::int64_t widest_vector = 16;

/// `n` rounded up to whole vectors.
constexpr std::int64_t whole_vectors(std::int64_t n) {
  return (n + widest_vector - 1) / widest_vector * widest_vector;
}

}  // namespace triax
