// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps between float32 tiles and heads of type E, independent of the code that multiplies tiles.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention/pack.hpp"
#include "kernels/attention/sizes.hpp"

namespace triax::attention {

/// First tile of keys that queries from i0 on see.
inline std::int64_t first_key_tile(const Sizes& n, std::int64_t i0) {
  return std::max<std::int64_t>(i0 - n.window + 1, 0) / tile_size * tile_size;
}

/// End of the queries that see one of `keys` keys from j0 on.
inline std::int64_t end_of_queries(const Sizes& n, std::int64_t j0, std::int64_t keys) {
  return std::min(n.length, j0 + keys - 1 + n.window);
}

/// Mask of the tile of queries from i0 and keys from j0.
inline TileMask mask_of(const Sizes& n, std::int64_t i0, std::int64_t j0) {
  return {.diagonal = i0 == j0, .before = i0 - j0 - n.window + 1};
}

/// Caps the scores of a tile, unless `soft_cap` is 0, and hides those that the mask hides. Returns
/// the scale that is left to apply: a tile without mask and cap is not touched.
inline float mask_scores(float* scores, float scale, float soft_cap, const TileMask& mask,
                         std::int64_t rows) {
  const bool capped = soft_cap > 0.0F;
  if (!capped && !mask.hides(rows)) return scale;
  if (capped)
    cap_scores(scores, scale, soft_cap, rows);
  else if (scale != 1.0F)
    scale_tile(scores, scale, rows);  // first: infinity times the scale may be NaN
  fill_hidden(scores, rows, mask, -std::numeric_limits<float>::infinity());
  return 1.0F;
}

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
