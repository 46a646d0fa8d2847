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

/// Keys that the queries of one sample see: those of their documents, within the window.
class Sight {
 public:
  Sight(const Sizes& n, const AttentionOptions& options, std::int64_t b)
      : length_(n.length),
        window_(n.window),
        positions_(options.positions.empty()
                       ? nullptr
                       : options.positions.as<std::int32_t>() + b * options.positions.stride(0)) {}

  /// First tile of keys that queries from i0 on see.
  std::int64_t first_key_tile(std::int64_t i0) const {
    return first_key(i0) / tile_size * tile_size;
  }
  /// Whether one of the queries from i0 on sees one of `keys` keys from j0 on, j0 <= i0.
  bool sees_some(std::int64_t i0, std::int64_t j0, std::int64_t keys) const {
    return i0 < length_ && first_key(i0) < j0 + keys;
  }
  /// Mask of the tile of queries from i0 and keys from j0.
  TileMask mask(std::int64_t i0, std::int64_t j0) const {
    return {.diagonal = i0 == j0,
            .before = i0 - j0 - window_ + 1,
            .positions = positions_ == nullptr ? nullptr : positions_ + i0,
            .distance = i0 - j0};
  }

 private:
  // It never decreases from one query to the next.
  std::int64_t first_key(std::int64_t i) const {
    const std::int64_t in_window = std::max<std::int64_t>(i - window_ + 1, 0);
    return positions_ == nullptr ? in_window : std::max(in_window, i - positions_[i]);
  }

  std::int64_t length_, window_;
  const std::int32_t* positions_;  // of the sample; null: it is one document
};

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
