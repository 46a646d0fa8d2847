#include "kernels/attention/tile.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/base/vector_math.hpp"
#include "kernels/random.hpp"

namespace triax::attention {

void pack_rows(float* to, std::int64_t width, const HeadView& from, std::int64_t first,
               std::int64_t rows, std::int64_t head_size, float factor) {
  for (std::int64_t r = 0; r < rows; ++r, to += width) {
    const float* row = from.row(first + r);
#pragma omp simd
    for (std::int64_t d = 0; d < head_size; ++d) to[d] = factor * row[d];
    std::fill(to + head_size, to + width, 0.0F);
  }
}

namespace {
// A block of vector_floats rows and columns of `from`, transposed: to[d * tile_size + r].
void transpose_block(float* to, const float* from, std::int64_t stride) {
  FloatVector rows[vector_floats];
#pragma GCC unroll 16
  for (int r = 0; r < vector_floats; ++r) rows[r] = load(from + r * stride);
  transpose(rows);
#pragma GCC unroll 16
  for (int d = 0; d < vector_floats; ++d) store(to + d * tile_size, rows[d]);
}
}  // namespace

void pack_transposed(float* to, const HeadView& from, std::int64_t first, std::int64_t rows,
                     std::int64_t head_size) {
  const std::int64_t block_rows = rows / vector_floats * vector_floats;
  const std::int64_t block_columns = head_size / vector_floats * vector_floats;
  for (std::int64_t r = 0; r < block_rows; r += vector_floats)
    for (std::int64_t d = 0; d < block_columns; d += vector_floats)
      transpose_block(to + d * tile_size + r, from.row(first + r) + d, from.stride);
  for (std::int64_t r = 0; r < rows; ++r) {  // what the blocks left
    const float* row = from.row(first + r);
    for (std::int64_t d = r < block_rows ? block_columns : 0; d < head_size; ++d)
      to[d * tile_size + r] = row[d];
  }
  if (rows < tile_size)
    for (std::int64_t d = 0; d < head_size; ++d)
      std::fill(to + d * tile_size + rows, to + (d + 1) * tile_size, 0.0F);
}

void fill_above_diagonal(float* tile, std::int64_t rows, float value) {
  for (std::int64_t r = 0; r < rows; ++r)
    std::fill(tile + r * tile_size + r + 1, tile + (r + 1) * tile_size, value);
}

void reset(const OnlineSoftmax& state, std::int64_t rows) {
  std::fill_n(state.largest, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(state.sum, rows * vector_floats, 0.0F);
}

void softmax_step(float* scores, const OnlineSoftmax& state, float* out, std::int64_t width,
                  std::int64_t rows) {
  std::array<float, tile_size> shrink{};
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = scores + r * tile_size;
    FloatVector largest = load(row);
    for (std::int64_t c = vector_floats; c < tile_size; c += vector_floats)
      largest = larger(load(row + c), largest);
    shrink[static_cast<std::size_t>(r)] = state.largest[r];
    state.largest[r] = std::max(state.largest[r], largest_lane(largest));
  }
#pragma omp simd
  for (std::size_t r = 0; r < tile_size; ++r) shrink[r] = fast_exp(shrink[r] - state.largest[r]);
  for (std::int64_t r = 0; r < rows; ++r, scores += tile_size) {
    const float largest = state.largest[r];
#pragma omp simd
    for (std::int64_t c = 0; c < tile_size; ++c) scores[c] = fast_exp(scores[c] - largest);
    const float factor = shrink[static_cast<std::size_t>(r)];
    FloatVector sum = load(state.sum + r * vector_floats) * factor;
    for (std::int64_t c = 0; c < tile_size; c += vector_floats) sum += load(scores + c);
    store(state.sum + r * vector_floats, sum);
    if (out == nullptr || factor == 1.0F) continue;
    float* out_row = out + r * width;
    for (std::int64_t d = 0; d < width; d += vector_floats)
      store(out_row + d, load(out_row + d) * factor);
  }
}

float row_sum(const OnlineSoftmax& state, std::int64_t row) {
  float sum = 0;
  for (int v = 0; v < vector_floats; ++v) sum += state.sum[row * vector_floats + v];
  return sum;
}

void probabilities(float* scores, const float* lse, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r, scores += tile_size) {
    const float shift = lse[r];
#pragma omp simd
    for (std::int64_t c = 0; c < tile_size; ++c) scores[c] = fast_exp(scores[c] - shift);
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

void dropout_tile(float* keep, const Dropout& dropout, std::int64_t first_index,
                  std::int64_t row_stride, std::int64_t rows, std::int64_t columns) {
  const float kept = 1.0F / (1.0F - dropout.probability);
  std::array<std::uint32_t, tile_size> words{};
  for (std::int64_t r = 0; r < rows; ++r) {
    random_words(words.data(), columns, dropout.key, first_index + r * row_stride);
    float* row = keep + r * tile_size;
    for (std::int64_t c = 0; c < columns; ++c)
      row[c] =
          uniform_from(words[static_cast<std::size_t>(c)]) >= dropout.probability ? kept : 0.0F;
    std::fill(row + columns, row + tile_size, 0.0F);
  }
}

void multiply_tile(float* a, const float* b, std::int64_t rows) {
#pragma omp simd
  for (std::int64_t i = 0; i < rows * tile_size; ++i) a[i] *= b[i];
}

}  // namespace triax::attention
