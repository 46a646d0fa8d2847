#include "kernels/tile_gemm_bf16.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/base/check.hpp"

#ifdef __x86_64__
#include <immintrin.h>

// What follows, and nothing that a header defines, is for processors with these instructions.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512bf16")

namespace triax {
namespace {

constexpr int block_rows = 6;  // as in tile_gemm.cpp with 32 registers
constexpr int block_vectors = 4;
constexpr int lanes = 16;

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

template <int Rows, int Vectors>
void block(const PairProduct& p, std::int64_t m0, std::int64_t n0, Range k) {
  const std::uint32_t* a = p.a + m0 * p.a_row_stride + k.begin * p.a_depth_stride;
  const std::uint32_t* b = p.b + k.begin * p.b_stride + n0;
  __m512 sum[Rows][Vectors];
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sum[r][v] = _mm512_setzero_ps();
  for (std::int64_t i = k.begin; i < k.end; ++i, a += p.a_depth_stride, b += p.b_stride) {
    __m512i row[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) row[v] = _mm512_loadu_si512(b + v * lanes);
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r) {
      int word;  // which may lie in memory of another type
      std::memcpy(&word, a + r * p.a_row_stride, sizeof word);
      const __m512i left = _mm512_set1_epi32(word);
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        sum[r][v] = _mm512_dpbf16_ps(sum[r][v], reinterpret_cast<__m512bh>(left),
                                     reinterpret_cast<__m512bh>(row[v]));
    }
  }
  const __m512 scale = _mm512_set1_ps(p.scale);
#pragma GCC unroll 6
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) {
      float* out = p.c + (m0 + r) * p.c_stride + n0 + v * lanes;
      const __m512 before = p.accumulate ? _mm512_loadu_ps(out) : _mm512_setzero_ps();
      _mm512_storeu_ps(out, _mm512_fmadd_ps(scale, sum[r][v], before));
    }
}

using Block = void (*)(const PairProduct&, std::int64_t, std::int64_t, Range);

// blocks[rows - 1][vectors - 1].
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

void pairs_along_rows(std::uint32_t* to, const float* tile, std::int64_t rows,
                      std::int64_t columns) {
  for (std::int64_t i = 0; i < rows * columns; i += 2 * lanes) {
    const __m512bh pairs =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(tile + i + lanes), _mm512_loadu_ps(tile + i));
    _mm512_storeu_si512(to + i / 2, reinterpret_cast<__m512i>(pairs));
  }
}

void pairs_along_columns(std::uint32_t* to, const float* tile, std::int64_t rows,
                         std::int64_t columns) {
  alignas(64) std::uint16_t places[2 * lanes];  // of the halves of each word among both rows
  for (std::uint16_t i = 0; i < lanes; ++i) {
    places[2 * i] = i;
    places[2 * i + 1] = static_cast<std::uint16_t>(i + lanes);
  }
  const __m512i interleaved = _mm512_load_si512(places);
  for (std::int64_t r = 0; r < rows; r += 2, to += columns)
    for (std::int64_t c = 0; c < columns; c += lanes) {
      const float* from = tile + r * columns + c;
      const __m512 upper = r + 1 < rows ? _mm512_loadu_ps(from + columns) : _mm512_setzero_ps();
      const __m512bh both = _mm512_cvtne2ps_pbh(upper, _mm512_loadu_ps(from));
      _mm512_storeu_si512(to + c, _mm512_maskz_permutexvar_epi16(~0U, interleaved,
                                                                 reinterpret_cast<__m512i>(both)));
    }
}

}  // namespace triax

#pragma GCC pop_options

namespace triax {

bool has_pair_products() {
  return __builtin_cpu_supports("avx512bf16") != 0;
}

void pair_product(const PairProduct& p) {
  constexpr std::int64_t block_columns = std::int64_t{block_vectors} * lanes;
  for (std::int64_t n0 = 0; n0 < p.columns; n0 += block_columns)
    for (std::int64_t m0 = 0; m0 < p.rows; m0 += block_rows) {
      const std::int64_t m_end = std::min(m0 + block_rows, p.rows);
      std::int64_t n_end = std::min(n0 + block_columns, p.columns);
      Range k{0, p.depth};
      if (p.triangle == Triangle::c_lower) n_end = std::min(n_end, m_end);
      if (p.triangle == Triangle::a_lower) k.end = std::min(k.end, (m_end + 1) / 2);
      if (p.triangle == Triangle::a_upper) k.begin = std::min(m0 / 2, k.end);
      if (n_end <= n0) continue;
      const auto vectors = (n_end - n0 + lanes - 1) / lanes;
      blocks[static_cast<std::size_t>(m_end - m0 - 1)][static_cast<std::size_t>(vectors - 1)](
          p, m0, n0, k);
    }
}

}  // namespace triax

#else

namespace triax {

bool has_pair_products() {
  return false;
}
void pair_product(const PairProduct&) {
  check(false, "no products of pairs on this processor");
}
void pairs_along_rows(std::uint32_t*, const float*, std::int64_t, std::int64_t) {
  check(false, "no products of pairs on this processor");
}
void pairs_along_columns(std::uint32_t*, const float*, std::int64_t, std::int64_t) {
  check(false, "no products of pairs on this processor");
}

}  // namespace triax

#endif
