// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention/attention_shape.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"

namespace triax::cuda {
namespace {

constexpr std::size_t element = 2;  // bytes of an element on tensor cores

constexpr std::int64_t tiles_over(std::int64_t length, std::int64_t rows) {
  return (length + rows - 1) / rows;
}

LaunchShape shape_of(const AttentionCut& cut, std::int64_t heads, std::int64_t length,
                     std::size_t shared_bytes) {
  return {.blocks_x = heads * tiles_over(length, cut.held()),
          .threads_x = cut.threads(),
          .shared_bytes = shared_bytes};
}

std::size_t tile_bytes(int rows, int width) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width) * element;
}

}  // namespace

LaunchShape attention_forward_shape(std::int64_t heads, std::int64_t length, int width,
                                    bool documents) {
  const AttentionCut cut = forward_cut(width, documents);
  return shape_of(cut, heads, length, tile_bytes(cut.held() + 2 * cut.walked, width));
}

LaunchShape attention_query_gradient_shape(std::int64_t heads, std::int64_t length, int width) {
  const AttentionCut cut = query_gradient_cut(width);
  return shape_of(cut, heads, length, tile_bytes(2 * cut.held() + 4 * cut.walked, width));
}

LaunchShape attention_key_gradient_shape(std::int64_t heads, std::int64_t length, int width) {
  const AttentionCut cut = key_gradient_cut(width);
  const std::size_t values = 4 * static_cast<std::size_t>(cut.walked) * sizeof(float);
  return shape_of(cut, heads, length, tile_bytes(2 * cut.held() + 4 * cut.walked, width) + values);
}

LaunchShape attention_row_sums_shape(std::int64_t rows) {
  return pointwise_shape(rows * row_sum_lanes, 1);
}

PlainCut plain_attention_cut(std::int64_t head_size, int row_tiles, int score_tiles,
                             std::size_t shared_bytes) {
  const std::size_t limit = std::min(shared_bytes, shared_limit);
  for (int rows = plain_rows; rows >= 1; rows /= 2) {
    const std::size_t columns = static_cast<std::size_t>(head_size | 1);
    const auto tile = [&](int count, std::size_t width) {
      return static_cast<std::size_t>(count * rows) * width * sizeof(float);
    };
    const std::size_t bytes =
        tile(row_tiles, columns) + tile(score_tiles, plain_pitch) + 2 * plain_rows * sizeof(float);
    if (bytes <= limit) return {rows, bytes};
  }
  throw Error(fmt::format("attention heads of size {} are too large for a GPU", head_size),
              "its shared memory does not hold one row of each operand",
              "Use more heads of a smaller size");
}

LaunchShape plain_attention_shape(std::int64_t heads, std::int64_t length, const PlainCut& cut) {
  return {.blocks_x = heads * tiles_over(length, cut.rows),
          .threads_x = warp,
          .threads_y = plain_warps,
          .shared_bytes = cut.shared_bytes};
}

LaunchShape cached_attention_shape(std::int64_t rows, std::int64_t parts, std::int64_t part) {
  return {.blocks_x = rows * parts,
          .threads_x = cached_threads,
          .shared_bytes = static_cast<std::size_t>(part) * sizeof(float)};
}

}  // namespace triax::cuda
