// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of rows in their order, a few rows at a time: a column's sum stays in a register across them
// and is loaded and stored once. Used for gradients of embeddings, positions and biases.
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/simd/vector_loop.hpp"

namespace triax {

/// Rows added per pass.
inline constexpr std::int64_t rows_at_once = 4;

// Distance in rows of prefetching: the processor does not predict the next rows when a loop reads
// several at once or in any order.
inline constexpr std::int64_t rows_ahead = 8;

/// A row that is not needed.
struct NoRow {
  friend constexpr NoRow operator+(NoRow row, std::int64_t /*columns*/) { return row; }
};
inline void prefetch(NoRow) {}

/// Rows are added as they are.
struct Unscaled {
  FloatVector add(FloatVector row, FloatVector sum) const { return sum + row; }
};
/// Each row is added times a factor, with one rounding.
struct ScaledBy {
  float factor;
  FloatVector add(FloatVector row, FloatVector sum) const {
    return multiply_add(FloatVector{} + factor, row, sum);
  }
};

namespace detail {

template <std::size_t count, class To, class From, class RowAt, class OtherAt, class Scale>
void add_some_rows(To* to, const From* from, std::int64_t columns, std::int64_t i,
                   const RowAt& row_at, const OtherAt& other_at, const Scale& scale) {
  std::array<decltype(row_at(i)), count> rows;
  std::array<decltype(row_at(i)), count> later;
  std::array<decltype(other_at(i)), count> others;
  for (std::size_t k = 0; k < count; ++k, ++i) {
    rows[k] = row_at(i);
    later[k] = row_at(i + rows_ahead);
    others[k] = other_at(i + rows_ahead);
  }
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    FloatVector sum = lanes.load(from + c);
#pragma GCC unroll 4
    for (std::size_t k = 0; k < count; ++k) {
      prefetch(later[k] + c);
      prefetch(others[k] + c);
      sum = scale.add(lanes.load(rows[k] + c), sum);
    }
    lanes.store(to + c, sum);
  });
}

}  // namespace detail

/// to[c] = from[c] + row_at(i)[c] + row_at(i + 1)[c] + ... over `count` rows, 1 to rows_at_once,
/// added in float32 and rounded when stored. Rows are prefetched, so row_at and other_at get
/// indices up to i + count + rows_ahead; beyond the last row they may return any row. other_at(i)
/// is other memory needed with row i (NoRow if none). `scale` is Unscaled or ScaledBy.
template <class To, class From, class RowAt, class OtherAt, class Scale = Unscaled>
void add_rows(To* to, const From* from, std::int64_t columns, std::int64_t i, std::int64_t count,
              const RowAt& row_at, const OtherAt& other_at, const Scale& scale = {}) {
  static_assert(rows_at_once == 4);
  switch (count) {
    case 1:
      return detail::add_some_rows<1>(to, from, columns, i, row_at, other_at, scale);
    case 2:
      return detail::add_some_rows<2>(to, from, columns, i, row_at, other_at, scale);
    case 3:
      return detail::add_some_rows<3>(to, from, columns, i, row_at, other_at, scale);
    default:
      return detail::add_some_rows<4>(to, from, columns, i, row_at, other_at, scale);
  }
}

}  // namespace triax
