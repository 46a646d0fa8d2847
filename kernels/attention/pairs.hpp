// SPDX-License-Identifier: Apache-2.0
#pragma once
// Heads of bfloat16 as 32-bit words of two elements, for kernels/matmul/tile_gemm_bf16.hpp. Nothing
// is rounded or scaled.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/attention/pack.hpp"
#include "kernels/attention/work.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"

namespace triax::attention {

/// A row of a head as words of two neighbouring elements; the stride in words is head.stride / 2.
inline const std::uint32_t* words_of(const HeadView<Bf16>& head, std::int64_t row) {
  return reinterpret_cast<const std::uint32_t*>(head.row(row));
}

/// Words of two neighbouring rows: row r of `to` ((rows + 1) / 2, width) holds rows first + 2 r and
/// first + 2 r + 1 of the head. A missing last row and columns beyond the head are zero.
inline void pair_rows(std::uint32_t* to, std::int64_t width, const HeadView<Bf16>& from,
                      std::int64_t first, std::int64_t rows, std::int64_t head_size) {
  for (std::int64_t r = 0; r < rows; r += 2, to += width) {
    const Bf16* lower = from.row(first + r);
    if (r + 1 < rows) {
      const Bf16* upper = from.row(first + r + 1);
#pragma omp simd
      for (std::int64_t d = 0; d < head_size; ++d)
        to[d] = std::uint32_t{lower[d].bits} | std::uint32_t{upper[d].bits} << 16U;
    } else {
#pragma omp simd
      for (std::int64_t d = 0; d < head_size; ++d) to[d] = lower[d].bits;
    }
    std::fill(to + head_size, to + width, 0U);
  }
}

/// Words of two neighbouring elements, transposed: to[d * tile_size + r] holds elements 2 d and 2 d
/// + 1 of row first + r. A tile with fewer rows is filled with zeros.
inline void transpose_words(std::uint32_t* to, const HeadView<Bf16>& from, std::int64_t first,
                            std::int64_t rows, std::int64_t head_size) {
  const std::int64_t words = head_size / 2;
  const std::int64_t block_rows = rows / vector_floats * vector_floats;
  const std::int64_t block_words = words / vector_floats * vector_floats;
  for (std::int64_t r = 0; r < block_rows; r += vector_floats)
    for (std::int64_t d = 0; d < block_words; d += vector_floats)
      detail::transpose_block(reinterpret_cast<float*>(to + d * tile_size + r),
                              reinterpret_cast<const float*>(from.row(first + r) + 2 * d),
                              from.stride / 2);
  for (std::int64_t r = 0; r < rows; ++r)  // remainder of the squares
    for (std::int64_t d = r < block_rows ? block_words : 0; d < words; ++d)
      std::memcpy(to + d * tile_size + r, from.row(first + r) + 2 * d, sizeof *to);
  if (rows < tile_size)
    for (std::int64_t d = 0; d < words; ++d)
      std::fill(to + d * tile_size + rows, to + (d + 1) * tile_size, 0U);
}

/// Words per row of a head's tile, and floats per row of its sums.
inline std::int64_t pair_width(const Sizes& n) {
  return whole_pair_columns(n.head_size);
}

/// True if all heads can be read as words: each pair of elements lies in one aligned word.
inline bool in_words(const Sizes& n, std::initializer_list<const Tensor*> heads) {
  return n.head_size % 2 == 0 && std::all_of(heads.begin(), heads.end(), [](const Tensor* head) {
           return head->stride(0) % 2 == 0 && head->stride(1) % 2 == 0 &&
                  head->stride(2) % 2 == 0 &&
                  reinterpret_cast<std::uintptr_t>(head->data()) % sizeof(std::uint32_t) == 0;
         });
}

}  // namespace triax::attention
