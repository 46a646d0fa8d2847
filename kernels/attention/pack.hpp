// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion between heads in tensors of type E (float, Bf16 or F16) and tiles, which are always
// float32: packing widens, unpacking rounds once.
#include <algorithm>
#include <cstdint>

#include "kernels/attention/tile.hpp"
#include "kernels/base/float16.hpp"
#include "kernels/simd/simd.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax::attention {

/// Rows of one head within a tensor (B, T, H, D): element (t, d) at t * stride + d.
template <class E>
struct HeadView {
  E* data = nullptr;
  std::int64_t stride = 0;
  E* row(std::int64_t t) const { return data + t * stride; }
};

/// to = factor * rows [first, first + rows) of a head. `to` has `width` columns; those beyond the
/// head are zero.
template <class E>
void pack_rows(float* to, std::int64_t width, const HeadView<E>& from, std::int64_t first,
               std::int64_t rows, std::int64_t head_size, float factor) {
  for (std::int64_t r = 0; r < rows; ++r, to += width) {
    const E* row = from.row(first + r);
    for_vectors(0, head_size, [=](std::int64_t d, auto lanes) {
      lanes.store(to + d, factor * lanes.load(row + d));
    });
    std::fill(to + head_size, to + width, 0.0F);
  }
}

namespace detail {

// Transposes a square of vector_floats rows and columns: to[d * tile_size + r] = from[r * stride +
// d].
template <class E>
void transpose_block(float* to, const E* from, std::int64_t stride) {
  FloatVector rows[vector_floats];
#pragma GCC unroll 16
  for (int r = 0; r < vector_floats; ++r) rows[r] = load(from + r * stride);
  transpose(rows);
#pragma GCC unroll 16
  for (int d = 0; d < vector_floats; ++d) store(to + d * tile_size, rows[d]);
}

}  // namespace detail

/// Rows [first, first + rows) of a head, transposed: to[d * tile_size + r]. A tile with fewer rows
/// is filled with zeros.
template <class E>
void pack_transposed(float* to, const HeadView<E>& from, std::int64_t first, std::int64_t rows,
                     std::int64_t head_size) {
  const std::int64_t block_rows = rows / vector_floats * vector_floats;
  const std::int64_t block_columns = head_size / vector_floats * vector_floats;
  for (std::int64_t r = 0; r < block_rows; r += vector_floats)
    for (std::int64_t d = 0; d < block_columns; d += vector_floats)
      detail::transpose_block(to + d * tile_size + r, from.row(first + r) + d, from.stride);
  for (std::int64_t r = 0; r < rows; ++r) {  // remainder of the squares
    const E* row = from.row(first + r);
    for (std::int64_t d = r < block_rows ? block_columns : 0; d < head_size; ++d)
      to[d * tile_size + r] = row[d];
  }
  if (rows < tile_size)
    for (std::int64_t d = 0; d < head_size; ++d)
      std::fill(to + d * tile_size + rows, to + (d + 1) * tile_size, 0.0F);
}

/// Rows [first, first + rows) of a head = factor * from (rows, width), rounded to E.
template <class E>
void unpack_rows(const HeadView<E>& to, std::int64_t first, const float* from, std::int64_t width,
                 std::int64_t rows, std::int64_t head_size, float factor) {
  for (std::int64_t r = 0; r < rows; ++r, from += width) {
    E* row = to.row(first + r);
    for_vectors(0, head_size, [=](std::int64_t d, auto lanes) {
      lanes.store(row + d, factor * lanes.load(from + d));
    });
  }
}

}  // namespace triax::attention
