// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/tile.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/random/dropout_mask.hpp"
#include "kernels/random/philox_vectors.hpp"
#include "kernels/simd/vector_loop.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax::attention {
namespace {
constexpr int sum_vectors = widest_vector / vector_floats;  // vectors per row of sums
// One step of the generator makes a row's halves.
constexpr int dropout_chains = tile_size / (4 * vector_floats);
}  // namespace

void fill_hidden(float* tile, std::int64_t rows, const TileMask& mask, float value) {
  for (std::int64_t r = 0; r < rows; ++r, tile += tile_size) {
    if (mask.diagonal) std::fill(tile + r + 1, tile + tile_size, value);
    std::fill_n(tile, std::clamp<std::int64_t>(mask.early(r), 0, tile_size), value);
  }
}

void cap_scores(float* scores, float scale, float cap, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows * tile_size; i += vector_floats)
    store(scores + i, cap * fast_tanh(load(scores + i) * (scale / cap)));
}

void reset(const OnlineSoftmax& state, std::int64_t rows) {
  std::fill_n(state.largest, rows, std::numeric_limits<float>::lowest());
  std::fill_n(state.sum, rows * widest_vector, 0.0F);
}

void softmax_step(float* scores, float scale, const OnlineSoftmax& state, float* out,
                  std::int64_t width, std::int64_t rows) {
  std::array<float, tile_size> shrink{};
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = scores + r * tile_size;
    FloatVector largest = load(row) * scale;
    for (std::int64_t c = vector_floats; c < tile_size; c += vector_floats)
      largest = larger(load(row + c) * scale, largest);
    shrink[static_cast<std::size_t>(r)] = state.largest[r];
    state.largest[r] = std::max(state.largest[r], largest_lane(largest));
  }
  for (std::int64_t r = 0; r < tile_size; r += vector_floats)
    store(shrink.data() + r, fast_exp_flushed(load(shrink.data() + r) - load(state.largest + r)));
  for (std::int64_t r = 0; r < rows; ++r, scores += tile_size) {
    const FloatVector largest = FloatVector{} + state.largest[r];
    const float factor = shrink[static_cast<std::size_t>(r)];
    float* row_sums = state.sum + r * widest_vector;
    FloatVector sum[sum_vectors];
#pragma GCC unroll 2
    for (int v = 0; v < sum_vectors; ++v) sum[v] = load(row_sums + v * vector_floats) * factor;
    for (std::int64_t c = 0; c < tile_size; c += widest_vector)
#pragma GCC unroll 2
      for (int v = 0; v < sum_vectors; ++v) {
        float* at = scores + c + v * vector_floats;
        const FloatVector probability =
            fast_exp_flushed(multiply_add(load(at), FloatVector{} + scale, -largest));
        store(at, probability);
        sum[v] += probability;
      }
#pragma GCC unroll 2
    for (int v = 0; v < sum_vectors; ++v) store(row_sums + v * vector_floats, sum[v]);
    if (out == nullptr || factor == 1.0F) continue;
    float* out_row = out + r * width;
    for (std::int64_t d = 0; d < width; d += vector_floats)
      store(out_row + d, load(out_row + d) * factor);
  }
}

float row_sum(const OnlineSoftmax& state, std::int64_t row) {
  float sum = 0;
  for (int lane = 0; lane < widest_vector; ++lane) sum += state.sum[row * widest_vector + lane];
  return sum;
}

void probabilities(float* scores, float scale, const float* lse, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r, scores += tile_size) {
    const FloatVector shift = FloatVector{} + lse[r];
    for (std::int64_t c = 0; c < tile_size; c += vector_floats)
      store(scores + c, fast_exp(multiply_add(load(scores + c), FloatVector{} + scale, -shift)));
  }
}

void softmax_gradient(float* d_probability, float* probability, const float* keep,
                      const float* delta, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float* d = d_probability + r * tile_size;
    float* p = probability + r * tile_size;
    const float shift = delta[r];
    if (keep == nullptr) {
#pragma omp simd
      for (std::int64_t c = 0; c < tile_size; ++c) d[c] = p[c] * (d[c] - shift);
    } else {
      const float* k = keep + r * tile_size;
#pragma omp simd
      for (std::int64_t c = 0; c < tile_size; ++c) {
        d[c] = p[c] * (k[c] * d[c] - shift);
        p[c] *= k[c];
      }
    }
  }
}

void capped_gradient(float* d_probability, float* scores, float scale, float cap, const float* lse,
                     const float* keep, const float* delta, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = r * tile_size; i < (r + 1) * tile_size; i += vector_floats) {
      const FloatVector kept = keep == nullptr ? FloatVector{} + 1.0F : load(keep + i);
      const FloatVector bent = fast_tanh(load(scores + i) * (scale / cap));
      const FloatVector probability =
          fast_exp(multiply_add(bent, FloatVector{} + cap, FloatVector{} - lse[r]));
      const FloatVector slope = multiply_add(-bent, bent, FloatVector{} + 1.0F);
      store(d_probability + i, probability * (kept * load(d_probability + i) - delta[r]) * slope);
      store(scores + i, probability * kept);
    }
}

void dropout_tile(float* keep, const Dropout& dropout, std::int64_t first_index,
                  std::int64_t row_stride, std::int64_t rows, std::int64_t columns) {
  const DropoutMask mask = dropout_mask(dropout.probability);
  for (std::int64_t r = 0; r < rows; ++r) {
    float* row = keep + r * tile_size;
    for_random_halves<dropout_chains>(
        columns, dropout.key, first_index + r * row_stride,
        [=](std::int64_t done, const std::uint16_t* halves, std::int64_t n) {
          for_vectors(0, n, [=](std::int64_t c, auto lanes) {
            lanes.store(row + done + c,
                        where_at_least(halves + c, mask.least, FloatVector{} + mask.factor));
          });
        });
    std::fill(row + columns, row + tile_size, 0.0F);
  }
}

void scale_tile(float* scores, float scale, std::int64_t rows) {
#pragma omp simd
  for (std::int64_t i = 0; i < rows * tile_size; ++i) scores[i] *= scale;
}

void multiply_tile(float* a, const float* b, std::int64_t rows) {
#pragma omp simd
  for (std::int64_t i = 0; i < rows * tile_size; ++i) a[i] *= b[i];
}

}  // namespace triax::attention
