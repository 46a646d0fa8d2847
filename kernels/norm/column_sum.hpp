// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over rows (gradients of biases and norm weights) in an order that does not depend on the
// number of threads: rows are summed in chunks of fixed size, each into one partial row, and the
// partial rows are then added in order.
#include <cstddef>
#include <cstdint>

#include "kernels/base/tensor.hpp"

namespace triax {

inline constexpr std::int64_t rows_per_block = 64;

/// Number of chunks of rows_per_block rows that cover `rows` rows.
constexpr std::int64_t row_blocks(std::int64_t rows) {
  return (rows + rows_per_block - 1) / rows_per_block;
}

/// Number of partial rows in the backward pass of a norm over `rows` rows: row_blocks() on the
/// host, more on a device if rows are few.
std::int64_t norm_blocks(std::int64_t rows, MemorySpace space);

/// Bytes that `blocks` partial rows of `columns` columns take from an arena; one sum.
std::size_t column_sum_bytes(std::int64_t blocks, std::int64_t columns);

/// out[c] = partials[0][c] + partials[1][c] + ..., added in double, plus out[c] if `accumulate`.
/// out: (columns) of any type, or empty: not wanted; partials: (blocks, columns).
void add_partial_rows(const Tensor& out, const float* partials, std::int64_t blocks,
                      bool accumulate);

}  // namespace triax
