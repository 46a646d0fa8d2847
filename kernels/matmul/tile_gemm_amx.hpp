// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of pairs (kernels/matmul/tile_gemm_bf16.hpp) by AMX: tile registers of 16 rows of 64
// bytes. One instruction multiplies two of them and adds the product to a third. Only for code of
// ISA levels with AMX.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"
#include "kernels/simd/simd.hpp"

namespace triax::tiles {

constexpr std::int64_t tile_rows = 16;     // also words of a row: pairs of the depth, or sums
constexpr std::int64_t most_columns = 64;  // of sums that registers hold at once

// The registers: four of sums that stand side by side, and what they are made of; the last words of
// a depth that is no multiple of 16 have registers of their own, since each has one shape.
enum Register : int { sums = 0, left = 4, right = 5, last_left = 6, last_right = 7 };

// Register shapes in the processor's format (LDTILECFG).
struct alignas(64) Shapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// `rows` of sums and of the left side; `last`: words of the last registers, 0 without.
inline void shape_registers(std::int64_t rows, std::int64_t last) {
  Shapes shapes;
  const auto shape = [&](int place, std::int64_t of_rows, std::int64_t words) {
    shapes.rows[place] = static_cast<std::uint8_t>(of_rows);
    shapes.row_bytes[place] = static_cast<std::uint16_t>(4 * words);
  };
  for (int i = 0; i < 4; ++i) shape(sums + i, rows, tile_rows);
  shape(left, rows, tile_rows);
  shape(right, tile_rows, tile_rows);
  if (last > 0) {
    shape(last_left, rows, last);
    shape(last_right, last, tile_rows);
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
}

// The left side of 16 rows, word k of row r at data + r * stride + k.
struct Left {
  const std::uint32_t* data = nullptr;
  std::int64_t stride = 0;
};

// The instructions. (GCC 12's own functions of them want literal numbers, and do not tell it what
// memory they read.)
template <int R>
void load_register(const void* rows, std::int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(rows), "r"(stride), "i"(R) : "memory");
}
template <int R>
void store_register(void* rows, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(rows), "r"(stride), "i"(R) : "memory");
}
template <int R>
void clear_register() {
  asm volatile("tilezero %%tmm%c0" : : "i"(R));
}
template <int C, int A, int B>
void multiply_add_registers() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(C), "i"(A), "i"(B));
}

// body(std::integral_constant<int, i>) for i below N.
template <int N, class Body>
void for_registers(const Body& body) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (body(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

// One register of the left side against N of the right side at b.
template <int N, int A, int B>
void multiply_add(const std::uint32_t* a, std::int64_t a_bytes, const std::uint32_t* b,
                  std::int64_t b_bytes) {
  load_register<A>(a, a_bytes);
  for_registers<N>([=](auto i) {
    load_register<B>(b + i * tile_rows, b_bytes);
    multiply_add_registers<sums + i, A, B>();
  });
}

template <int N>
void load_sums(const float* c, std::int64_t bytes) {
  for_registers<N>([=](auto i) { load_register<sums + i>(c + i * tile_rows, bytes); });
}
template <int N>
void clear_sums() {
  for_registers<N>([](auto i) { clear_register<sums + i>(); });
}
template <int N>
void store_sums(float* c, std::int64_t bytes) {
  for_registers<N>([=](auto i) { store_register<sums + i>(c + i * tile_rows, bytes); });
}

// Words of the depth.
struct Words {
  std::int64_t begin = 0;  // a multiple of 16
  std::int64_t end = 0;
};

// Rows of c from m0, N registers of columns from n0. a: of those rows.
template <int N>
void block(const PairProduct& p, const Left& a, std::int64_t m0, std::int64_t n0, Words k) {
  float* c = p.c + m0 * p.c_stride + n0;
  const std::int64_t a_bytes = 4 * a.stride, b_bytes = 4 * p.b_stride, c_bytes = 4 * p.c_stride;
  if (p.accumulate)
    load_sums<N>(c, c_bytes);
  else
    clear_sums<N>();
  const std::uint32_t* b = p.b + n0;
  std::int64_t i = k.begin;
  for (; i + tile_rows <= k.end; i += tile_rows)
    multiply_add<N, left, right>(a.data + i, a_bytes, b + i * p.b_stride, b_bytes);
  if (i < k.end)
    multiply_add<N, last_left, last_right>(a.data + i, a_bytes, b + i * p.b_stride, b_bytes);
  store_sums<N>(c, c_bytes);
}

// Left side of up to 16 rows in the layout of tile registers, transposed from words in columns.
class Turned {
 public:
  Left rows_of(const PairProduct& p, std::int64_t m0, std::int64_t rows, Words k) {
    check(p.a_row_stride == 1 && k.end <= most_words, "a product of pairs of depth {} by columns",
          p.depth);
    const auto lanes = static_cast<__mmask16>((1U << rows) - 1U);
    for (std::int64_t k0 = k.begin; k0 < k.end; k0 += tile_rows) {
      const std::uint32_t* from = p.a + m0 + k0 * p.a_depth_stride;
      FloatVector words[tile_rows] = {};
      if (rows == tile_rows && k0 + tile_rows <= k.end) {
#pragma GCC unroll 16
        for (int i = 0; i < tile_rows; ++i, from += p.a_depth_stride)
          words[i] = load(reinterpret_cast<const float*>(from));
      } else {
        for (int i = 0; i < tile_rows && k0 + i < k.end; ++i, from += p.a_depth_stride)
          words[i] = reinterpret_cast<__m512>(_mm512_maskz_loadu_epi32(lanes, from));
      }
      transpose(words);
#pragma GCC unroll 16
      for (int r = 0; r < tile_rows; ++r)
        store(reinterpret_cast<float*>(words_ + r * most_words + k0), words[r]);
    }
    return {words_, most_words};
  }

 private:
  static constexpr std::int64_t most_words = 128;
  alignas(64) std::uint32_t words_[tile_rows * most_words];
};

/// Configures whole tile registers for this thread; end() releases them, which makes context
/// switches cheaper and leaves other users (oneDNN) unaffected.
inline void begin() {
  shape_registers(tile_rows, 0);
}
inline void end() {
  asm volatile("tilerelease");
}

/// pair_product between begin and end, with a along rows, or along columns (a_row_stride 1) where
/// it has 256 elements of depth at most.
inline void product(const PairProduct& p) {
  using Block = void (*)(const PairProduct&, const Left&, std::int64_t, std::int64_t, Words);
  static constexpr Block blocks[] = {block<1>, block<2>, block<3>, block<4>};
  Turned turned;
  // Shapes take as long to load as two products of registers: whole ones are loaded already.
  const std::int64_t last = p.depth % tile_rows;
  std::int64_t shaped = last == 0 ? tile_rows : 0;
  for (std::int64_t m0 = 0; m0 < p.rows; m0 += tile_rows) {
    const std::int64_t m_end = std::min(m0 + tile_rows, p.rows);
    const std::int64_t rows = m_end - m0;
    Words k{0, p.depth};
    std::int64_t columns = p.columns;
    // By whole registers: beyond a triangle a has zeros.
    if (p.triangle == Triangle::c_lower) columns = std::min(columns, m_end);
    if (p.triangle == Triangle::a_lower)
      k.end = std::min(k.end, ((m_end + 1) / 2 + tile_rows - 1) / tile_rows * tile_rows);
    if (p.triangle == Triangle::a_upper) k.begin = m0 / 2 / tile_rows * tile_rows;
    if (rows != shaped) shape_registers(rows, last);
    shaped = rows;
    const Left a = p.a_depth_stride == 1 ? Left{p.a + m0 * p.a_row_stride, p.a_row_stride}
                                         : turned.rows_of(p, m0, rows, k);
    for (std::int64_t n0 = 0; n0 < columns; n0 += most_columns) {
      const std::int64_t count = (std::min(columns - n0, most_columns) + tile_rows - 1) / tile_rows;
      blocks[count - 1](p, a, m0, n0, k);
    }
  }
  if (last != 0 || shaped != tile_rows) shape_registers(tile_rows, 0);
}

}  // namespace triax::tiles
