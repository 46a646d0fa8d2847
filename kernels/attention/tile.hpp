// SPDX-License-Identifier: Apache-2.0
#pragma once
// Steps of attention on one tile of queries and one tile of keys. Tiles of probabilities are
// (tile_size, tile_size), tiles of heads (tile_size, head size rounded up to whole vectors); both
// are row-major.
#include <algorithm>
#include <cstdint>

#include "kernels/matmul/tile_gemm.hpp"
#include "kernels/random/dropout.hpp"

namespace triax::attention {

/// Queries and keys per tile. With heads of 64, a tile of keys, a tile of queries and their product
/// fit the first- and second-level caches.
constexpr std::int64_t tile_size = 64;

/// Elements of a tile whose key its query does not see.
struct TileMask {
  bool diagonal = false;    // those above the diagonal, c > r: keys later than their query
  std::int64_t before = 0;  // those with c < r + before: keys before the window
  const std::int32_t* positions = nullptr;  // of the queries in their documents; null: none
  std::int64_t distance = 0;  // from the first key to the first query, used with positions

  /// Number of keys that are hidden from query r because they come too early.
  std::int64_t early(std::int64_t r) const {
    return r + (positions == nullptr ? before : std::max(before, distance - positions[r]));
  }
  /// True if it hides a key from one of `rows` queries. The last one's first key is the latest.
  bool hides(std::int64_t rows) const { return diagonal || early(rows - 1) > 0; }
  /// Zeros of a tile of probabilities (queries, keys), and of the transposed tile.
  Triangle triangle() const { return of(Triangle::a_lower, Triangle::a_upper); }
  Triangle transposed() const { return of(Triangle::a_upper, Triangle::a_lower); }

 private:
  Triangle of(Triangle later, Triangle earlier) const {
    return diagonal ? later : before >= 0 ? earlier : Triangle::none;
  }
};

/// Sets all elements that `mask` hides to `value`.
void fill_hidden(float* tile, std::int64_t rows, const TileMask& mask, float value);

/// scores = cap tanh(scale scores / cap).
void cap_scores(float* scores, float scale, float cap, std::int64_t rows);

/// Running softmax statistics of each query over the keys seen so far (Milakov & Gimelshein 2018).
struct OnlineSoftmax {
  float* largest = nullptr;  // (tile_size): largest score
  float* sum = nullptr;  // (tile_size, widest_vector): sums of exp(score - largest), one per lane
};

/// Resets the statistics to those of no keys. The largest score is finite: a row whose first tiles
/// lie before its window has only hidden scores there, and infinity - infinity would be NaN.
void reset(const OnlineSoftmax& state, std::int64_t rows);

/// scores = exp(scale scores - largest), after updating `state` with the new scores. Rescales `out`
/// (tile_size, width), the sum of values so far, to the new largest score; null for the first tile,
/// which has none.
void softmax_step(float* scores, float scale, const OnlineSoftmax& state, float* out,
                  std::int64_t width, std::int64_t rows);

/// Sum over the lanes of row `row` of state.sum.
float row_sum(const OnlineSoftmax& state, std::int64_t row);

/// scores = exp(scale scores - lse[row]): recomputes the probabilities.
void probabilities(float* scores, float scale, const float* lse, std::int64_t rows);

/// d_scores = probability * (keep * d_probability - delta[row]), into d_probability; then
/// probability *= keep. `keep` is null without dropout.
void softmax_gradient(float* d_probability, float* probability, const float* keep,
                      const float* delta, std::int64_t rows);

/// probabilities() and softmax_gradient() in one for capped scores, with the slope of the cap, 1 -
/// (capped / cap)^2. Scores before the cap become probabilities.
void capped_gradient(float* d_probability, float* scores, float scale, float cap, const float* lse,
                     const float* keep, const float* delta, std::int64_t rows);

/// keep[r][c] = dropout's factor of kept elements, or 0 (dropout_mask.hpp). The element's global
/// index is first_index + r * row_stride + c.
void dropout_tile(float* keep, const Dropout& dropout, std::int64_t first_index,
                  std::int64_t row_stride, std::int64_t rows, std::int64_t columns);

/// scores *= scale, over `rows` whole rows.
void scale_tile(float* scores, float scale, std::int64_t rows);

/// a *= b, over `rows` whole rows.
void multiply_tile(float* a, const float* b, std::int64_t rows);

}  // namespace triax::attention
