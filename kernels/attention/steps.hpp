// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps between float32 tiles and heads of type E, independent of the code that multiplies tiles.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/attention/pack.hpp"
#include "kernels/attention/sizes.hpp"

namespace triax::attention {

/// Writes rows [first, first + rows) of `out` = tile / sums, and their log-sum-exps. tile: (rows,
/// width); lse: all rows of the head.
template <class E>
void finish_rows(const HeadView<E>& out, float* lse, std::int64_t first, std::int64_t rows,
                 const OnlineSoftmax& state, const float* tile, std::int64_t width,
                 std::int64_t head_size) {
  for (std::int64_t r = 0; r < rows; ++r, tile += width) {
    const float sum = row_sum(state, r);
    lse[first + r] = state.largest[r] + std::log(sum);
    E* row = out.row(first + r);
#pragma omp simd
    for (std::int64_t d = 0; d < head_size; ++d) row[d] = tile[d] / sum;
  }
}

/// delta[t] = sum over d of x[t][d] y[t][d].
template <class E>
void row_products(float* delta, const HeadView<E>& x, const HeadView<E>& y, std::int64_t length,
                  std::int64_t head_size) {
  for (std::int64_t t = 0; t < length; ++t) {
    const E* a = x.row(t);
    const E* b = y.row(t);
    delta[t] = vector_sum(head_size, [=](std::int64_t d, auto lanes) {
      return Product{lanes.load(a + d), lanes.load(b + d)};
    });
  }
}

/// Adds one query head's gradient of a tile of keys, rows [first, first + rows), to the sum over
/// the heads before it; `reader` is its index in the group. The last head writes the sum times
/// `factor` to `to`; until then sums stay float32. tile: (rows, width); sum: (T, width).
template <class E>
void add_query_head(const HeadView<E>& to, float* tile, float* sum, std::int64_t first,
                    std::int64_t rows, std::int64_t width, const Sizes& n, std::int64_t reader,
                    float factor) {
  const std::int64_t count = rows * width;
  sum += first * width;
  if (reader > 0) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) tile[i] += sum[i];
  }
  if (reader + 1 == n.group())
    unpack_rows(to, first, tile, width, rows, n.head_size, factor);
  else
    std::copy_n(tile, count, sum);
}

}  // namespace triax::attention
