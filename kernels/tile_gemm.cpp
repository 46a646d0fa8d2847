#include "kernels/tile_gemm.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace triax {
namespace {

// The block of c that stays in registers: with a row of b and one element of a it fills the
// register file, and its independent sums cover the latency of the multiply-adds.
constexpr int block_rows = 6;
constexpr int block_vectors = vector_registers == 32 ? 4 : 2;

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// c[m0 .. m0 + Rows)[n0 .. n0 + Vectors whole vectors) over depth [k.begin, k.end).
template <int Rows, int Vectors>
void block(const TileProduct& p, std::int64_t m0, std::int64_t n0, Range k) {
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
      for (int v = 0; v < Vectors; ++v) sum[r][v] += a[r * row_stride] * row[v];
  }
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      float* out = c + r * p.c_stride + v * vector_floats;
      store(out, p.accumulate ? load(out) + sum[r][v] : sum[r][v]);
    }
}

using Block = void (*)(const TileProduct&, std::int64_t, std::int64_t, Range);

// blocks[rows - 1][vectors - 1]: the full block and the smaller ones of the edges.
template <int Rows, int... V>
constexpr std::array<Block, block_vectors> blocks_of_rows(std::integer_sequence<int, V...>) {
  return {block<Rows, V + 1>...};
}
template <int... R>
constexpr std::array<std::array<Block, block_vectors>, block_rows> all_blocks(
    std::integer_sequence<int, R...>) {
  return {blocks_of_rows<R + 1>(std::make_integer_sequence<int, block_vectors>{})...};
}
constexpr auto blocks = all_blocks(std::make_integer_sequence<int, block_rows>{});

}  // namespace

void tile_product(const TileProduct& p) {
  constexpr std::int64_t block_columns = std::int64_t{block_vectors} * vector_floats;
  for (std::int64_t n0 = 0; n0 < p.columns; n0 += block_columns)
    for (std::int64_t m0 = 0; m0 < p.rows; m0 += block_rows) {
      const std::int64_t m_end = std::min(m0 + block_rows, p.rows);
      std::int64_t n_end = std::min(n0 + block_columns, p.columns);
      Range k{0, p.depth};
      if (p.triangle == Triangle::c_lower) n_end = std::min(n_end, m_end);
      if (p.triangle == Triangle::a_lower) k.end = std::min(k.end, m_end);
      if (p.triangle == Triangle::a_upper) k.begin = std::min(m0, k.end);
      if (n_end <= n0) continue;
      const auto vectors = (n_end - n0 + vector_floats - 1) / vector_floats;
      blocks[static_cast<std::size_t>(m_end - m0 - 1)][static_cast<std::size_t>(vectors - 1)](
          p, m0, n0, k);
    }
}

}  // namespace triax
