#include "kernels/embedding.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"

namespace triax {
namespace {

// Scattered rows meet at the same row of the result, so cores share out columns, not rows: each
// adds its columns in row order, whatever their number.
template <class Body>
void for_column_ranges(std::int64_t columns, const Body& body) {
  constexpr std::int64_t cache_line = 16;  // floats
  const std::int64_t share = (columns + host_concurrency() - 1) / host_concurrency();
  const std::int64_t width = (share + cache_line - 1) / cache_line * cache_line;
  parallel_for_blocks(columns, std::max(width, cache_line), body);
}

void clear_columns(const Rows<float>& out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = 0; r < out.rows; ++r) std::fill(out[r] + begin, out[r] + end, 0.0F);
}

void add_columns(float* to, const float* from, std::int64_t begin, std::int64_t end) {
#pragma omp simd
  for (std::int64_t c = begin; c < end; ++c) to[c] += from[c];
}

}  // namespace

void embedding_forward(const Stream&, const Tensor& y, const Tensor& tokens, const Tensor& weight,
                       std::int64_t first_token) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> table = rows_of(weight, "weight");
  const std::int32_t* ids = elements_of<std::int32_t>(tokens, out.rows, "tokens");
  check(table.columns == out.columns, "embedding of {} columns into {}", table.columns,
        out.columns);
  parallel_for(out.rows, [=](std::int64_t r) {
    const std::int64_t row = ids[r] - first_token;
    if (ids[r] >= 0 && row >= 0 && row < table.rows)
      std::copy_n(table[row], out.columns, out[r]);
    else
      std::fill_n(out[r], out.columns, 0.0F);
  });
}

void embedding_backward(const Stream&, const Tensor& dweight, const Tensor& tokens,
                        const Tensor& dy, std::int64_t first_token, bool accumulate) {
  const Rows<float> in = rows_of(dy, "dy");
  const Rows<float> table = rows_of(dweight, "dweight");
  const std::int32_t* ids = elements_of<std::int32_t>(tokens, in.rows, "tokens");
  check(table.columns == in.columns, "embedding of {} columns into {}", table.columns, in.columns);
  for_column_ranges(in.columns, [=](std::int64_t begin, std::int64_t end) {
    if (!accumulate) clear_columns(table, begin, end);
    for (std::int64_t r = 0; r < in.rows; ++r) {
      const std::int64_t row = ids[r] - first_token;
      if (ids[r] >= 0 && row >= 0 && row < table.rows) add_columns(table[row], in[r], begin, end);
    }
  });
}

void position_forward(const Stream&, const Tensor& y, const Tensor& weight, std::int64_t first_row,
                      std::int64_t sequence_length) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> table = rows_of(weight, "weight");
  check(table.columns == out.columns && table.rows >= sequence_length && sequence_length > 0,
        "positions {} for sequences of {} and {} columns", weight.shape(), sequence_length,
        out.columns);
  parallel_for(out.rows, [=](std::int64_t r) {
    add_columns(out[r], table[(first_row + r) % sequence_length], 0, out.columns);
  });
}

void position_backward(const Stream&, const Tensor& dweight, const Tensor& dy,
                       std::int64_t first_row, std::int64_t sequence_length, bool accumulate) {
  const Rows<float> in = rows_of(dy, "dy");
  const Rows<float> table = rows_of(dweight, "dweight");
  check(table.columns == in.columns && table.rows >= sequence_length && sequence_length > 0,
        "positions {} for sequences of {} and {} columns", dweight.shape(), sequence_length,
        in.columns);
  for_column_ranges(in.columns, [=](std::int64_t begin, std::int64_t end) {
    if (!accumulate) clear_columns(table, begin, end);
    for (std::int64_t r = 0; r < in.rows; ++r)
      add_columns(table[(first_row + r) % sequence_length], in[r], begin, end);
  });
}

}  // namespace triax
