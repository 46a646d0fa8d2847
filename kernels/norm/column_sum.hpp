#pragma once
// Sums over rows (gradients of biases and norm weights) in an order that no thread count changes:
// rows are summed in blocks of fixed size, one partial row a block, and the partial rows are then
// added in order.
#include <cstddef>
#include <cstdint>

#include "kernels/base/tensor.hpp"

namespace triax {

inline constexpr std::int64_t rows_per_block = 64;

/// Blocks that cover `rows` rows.
constexpr std::int64_t row_blocks(std::int64_t rows) {
  return (rows + rows_per_block - 1) / rows_per_block;
}

/// Partial rows that the backward pass of a norm over `rows` rows makes: row_blocks() on the host;
/// on a device more where rows are few.
std::int64_t norm_blocks(std::int64_t rows, MemorySpace space);

/// Bytes that `blocks` partial rows of `columns` columns take from an arena, per sum.
std::size_t column_sum_bytes(std::int64_t blocks, std::int64_t columns);

/// out[c] = partials[0][c] + partials[1][c] + ..., added in double; plus out[c] when `accumulate`.
/// out: (columns) of any type; partials: (blocks, columns).
void add_partial_rows(const Tensor& out, const float* partials, std::int64_t blocks,
                      bool accumulate);

}  // namespace triax
