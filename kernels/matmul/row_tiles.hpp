// SPDX-License-Identifier: Apache-2.0
#pragma once
// Register tiles of products whose bits do not depend on the number of rows, for row_matmul and for
// attention over pages. Only for sources that are compiled once per ISA level.
#include <algorithm>
#include <utility>

#include "kernels/simd/vector_loop.hpp"

namespace triax::row_tiles {

constexpr bool many_registers = vector_registers == 32;

template <class T>
struct RowProduct {
  const float* a;  // a[m][k] at m * a_stride + k
  std::int64_t a_stride;
  const T* b;  // b[k][n] at k + n * b_stride (dot products) or k * b_stride + n (columns)
  std::int64_t b_stride;
  float* c;  // c[m][n] at m * c_stride + n
  std::int64_t c_stride;
  const float* bias;  // null: none
  std::int64_t rows, columns, depth;
};

struct DepthRange {
  std::int64_t begin, end;
};

// body.operator()<n>() for n from 1 to sizeof...(I).
template <class Body, int... I>
[[gnu::always_inline]] inline void with_number(std::int64_t n, const Body& body,
                                               std::integer_sequence<int, I...>) {
  ((n == I + 1 ? body.template operator()<I + 1>() : void()), ...);
}
template <int most, class Body>
[[gnu::always_inline]] inline void with_number(std::int64_t n, const Body& body) {
  with_number(n, body, std::make_integer_sequence<int, most>{});
}

// Rows of b are contiguous: an element of c is summed along the depth in one lane. The depth goes
// in chunks, between which sums wait in c.
template <class T>
struct ColumnSums {
  static constexpr int rows = 6, vectors = many_registers ? 4 : 2;
  static constexpr int columns = vectors * vector_floats;

  template <int Rows, int Vectors, class Lanes>
  static void sums(const RowProduct<T>& p, std::int64_t m0, std::int64_t n0, DepthRange k,
                   bool resume, Lanes lanes) {
    const float* a = p.a + m0 * p.a_stride;
    const T* b = p.b + k.begin * p.b_stride + n0;
    float* c = p.c + m0 * p.c_stride + n0;
    FloatVector sum[Rows][Vectors] = {};
    if (resume)
#pragma GCC unroll 6
      for (int m = 0; m < Rows; ++m)
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v)
          sum[m][v] = lanes.load(c + m * p.c_stride + v * vector_floats);
    for (std::int64_t i = k.begin; i < k.end; ++i, b += p.b_stride) {
      FloatVector row[Vectors];
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        prefetch(b + (k.end - k.begin) * p.b_stride + v * vector_floats);
        row[v] = lanes.load(b + v * vector_floats);
      }
#pragma GCC unroll 6
      for (int m = 0; m < Rows; ++m) {
        const FloatVector factor = FloatVector{} + a[m * p.a_stride + i];
#pragma GCC unroll 4
        for (int v = 0; v < Vectors; ++v) sum[m][v] = multiply_add(factor, row[v], sum[m][v]);
      }
    }
    const bool biased = p.bias != nullptr && k.end == p.depth;
#pragma GCC unroll 6
    for (int m = 0; m < Rows; ++m)
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) {
        const std::int64_t n = v * vector_floats;
        const FloatVector bias = biased ? lanes.load(p.bias + n0 + n) : FloatVector{};
        lanes.store(c + m * p.c_stride + n, biased ? sum[m][v] + bias : sum[m][v]);
      }
  }

  // `count` columns, at most `columns`.
  template <int Rows>
  static void block(const RowProduct<T>& p, std::int64_t m0, std::int64_t n0, std::int64_t count,
                    DepthRange k, bool resume) {
    const std::int64_t whole = count / vector_floats;
    with_number<vectors>(whole, [&]<int V>() { sums<Rows, V>(p, m0, n0, k, resume, AllLanes{}); });
    if (const std::int64_t rest = count - whole * vector_floats; rest > 0)
      sums<Rows, 1>(p, m0, n0 + whole * vector_floats, k, resume, FirstLanes{rest});
  }
};

// Calls tile(m, rows, n, columns) for the register tiles of all rows and of columns [begin, end).
template <class Kernel, class Tile>
void for_tiles(std::int64_t first, std::int64_t last, std::int64_t begin, std::int64_t end,
               const Tile& tile) {
  for (std::int64_t n = begin; n < end; n += Kernel::columns)
    for (std::int64_t m = first; m < last; m += Kernel::rows)
      tile(m, std::min<std::int64_t>(Kernel::rows, last - m), n,
           std::min<std::int64_t>(Kernel::columns, end - n));
}

/// c = a b over the whole depth, or c += a b with `accumulate`, on this thread.
template <class T>
void column_product(const RowProduct<T>& p, bool accumulate) {
  using Kernel = ColumnSums<T>;
  const DepthRange depth{0, p.depth};
  for_tiles<Kernel>(0, p.rows, 0, p.columns,
                    [&](std::int64_t m, std::int64_t rows, std::int64_t n, std::int64_t count) {
                      with_number<Kernel::rows>(rows, [&]<int R>() {
                        Kernel::template block<R>(p, m, n, count, depth, accumulate);
                      });
                    });
}

}  // namespace triax::row_tiles
