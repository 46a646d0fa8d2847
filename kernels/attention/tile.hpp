#pragma once
// The steps of attention on one tile of queries against one tile of keys. Tiles of probabilities
// are (tile_size, tile_size), tiles of heads (tile_size, head size rounded up to whole vectors);
// both row-major.
#include <cstdint>

#include "kernels/matmul/tile_gemm.hpp"
#include "kernels/random/dropout.hpp"

namespace triax::attention {

/// Queries and keys of a tile. With heads of 64, a tile of keys, one of queries and their products
/// fit the first two caches.
constexpr std::int64_t tile_size = 64;

/// What lies above the diagonal of a tile (c > r, keys later than their query) becomes `value`.
void fill_above_diagonal(float* tile, std::int64_t rows, float value);

/// What a query remembers of the keys seen so far (Milakov & Gimelshein 2018).
struct OnlineSoftmax {
  float* largest = nullptr;  // (tile_size): the largest score
  float* sum = nullptr;  // (tile_size, widest_vector): sums of exp(score - largest), a lane its own
};

/// Forgets everything.
void reset(const OnlineSoftmax& state, std::int64_t rows);

/// scores = exp(scale scores - largest), after the new scores have been counted in `state`. Rows of
/// `out` (tile_size, width), the sums of values so far, are scaled to the new largest score; null
/// for the first tile, which has none.
void softmax_step(float* scores, float scale, const OnlineSoftmax& state, float* out,
                  std::int64_t width, std::int64_t rows);

/// The sum of the lanes of row `row`.
float row_sum(const OnlineSoftmax& state, std::int64_t row);

/// scores = exp(scale scores - lse[row]): the probabilities again.
void probabilities(float* scores, float scale, const float* lse, std::int64_t rows);

/// d_scores = probability * (keep * d_probability - delta[row]), into d_probability; then
/// probability *= keep. `keep` is null without dropout.
void softmax_gradient(float* d_probability, float* probability, const float* keep,
                      const float* delta, std::int64_t rows);

/// keep[r][c] = 0 or the factor of what dropout keeps (dropout_mask.hpp), by the element's global
/// index first_index + r * row_stride + c.
void dropout_tile(float* keep, const Dropout& dropout, std::int64_t first_index,
                  std::int64_t row_stride, std::int64_t rows, std::int64_t columns);

/// scores *= scale, whole rows.
void scale_tile(float* scores, float scale, std::int64_t rows);

/// a *= b, whole rows.
void multiply_tile(float* a, const float* b, std::int64_t rows);

}  // namespace triax::attention
