// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul/tile_gemm_bf16.hpp"

#include <cstring>

#include "kernels/base/check.hpp"
#include "kernels/isa/processor.hpp"
#include "kernels/matmul/tile_gemm_blocks.hpp"

#ifdef __AVX512BF16__
#include <immintrin.h>

#ifdef __AMX_BF16__
#include "kernels/isa/isa.hpp"
#include "kernels/matmul/tile_gemm_amx.hpp"
#endif

namespace triax {
namespace {

struct PairKernel {
  static constexpr int rows = 6, vectors = 4;  // as in tile_gemm.cpp with 32 registers
  static constexpr int lanes = 16, depths = 2;

  template <int Rows, int Vectors>
  static void block(const PairProduct& p, std::int64_t m0, std::int64_t n0, DepthRange k) {
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
        int word = 0;  // which may lie in memory of another type
        std::memcpy(&word, a + r * p.a_row_stride, sizeof word);
        const __m512i left = _mm512_set1_epi32(word);
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
          sum[r][v] = _mm512_dpbf16_ps(sum[r][v], reinterpret_cast<__m512bh>(left),
                                       reinterpret_cast<__m512bh>(row[v]));
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        float* out = p.c + (m0 + r) * p.c_stride + n0 + v * lanes;
        const __m512 before = p.accumulate ? _mm512_loadu_ps(out) : _mm512_setzero_ps();
        _mm512_storeu_ps(out, before + sum[r][v]);
      }
  }
};

// Code for one processor alone may have instructions for tiles and no leave of the kernel's.
bool by_tiles() {
#ifdef __AMX_BF16__
  return isa_in_use() == Isa::avx512_amx;
#else
  return false;
#endif
}

}  // namespace

void pairs_along_rows(std::uint32_t* to, const float* tile, std::int64_t rows,
                      std::int64_t columns) {
  constexpr int lanes = PairKernel::lanes;
  for (std::int64_t i = 0; i < rows * columns; i += 2 * lanes) {
    const __m512bh pairs =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(tile + i + lanes), _mm512_loadu_ps(tile + i));
    _mm512_storeu_si512(to + i / 2, reinterpret_cast<__m512i>(pairs));
  }
}

void pairs_along_columns(std::uint32_t* to, const float* tile, std::int64_t rows,
                         std::int64_t columns) {
  constexpr int lanes = PairKernel::lanes;
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

bool has_pair_products() {
  return true;
}

bool pair_products_pay() {
  return by_tiles() || !detail::processor_is_slow_at_pairs();
}

PairRegisters::PairRegisters() {
#ifdef __AMX_BF16__
  if (by_tiles()) tiles::begin();
#endif
}
PairRegisters::~PairRegisters() {
#ifdef __AMX_BF16__
  if (by_tiles()) tiles::end();
#endif
}

void pair_product(const PairProduct& p) {
#ifdef __AMX_BF16__
  if (by_tiles()) return tiles::product(p);
#endif
  TileBlocks<PairKernel>::run(p);
}

}  // namespace triax

#else

namespace triax {

bool has_pair_products() {
  return false;
}
bool pair_products_pay() {
  return false;
}
PairRegisters::PairRegisters() {}
PairRegisters::~PairRegisters() {}
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
