// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch/launch_shape.hpp"

#include <algorithm>

#include "kernels/base/check.hpp"
#include "kernels/norm/column_sum.hpp"

namespace triax::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int row_threads = 512;  // for the longest rows that fit into registers
constexpr std::size_t long_row_slots = row_sum_slots * sizeof(float);

constexpr std::int64_t blocks_over(std::int64_t n, std::int64_t size) {
  return (n + size - 1) / size;
}

// Threads per row of `columns` elements: one warp, doubled until they hold the row, `part` elements
// each.
int threads_of_row(std::int64_t columns, int part) {
  int threads = warp;
  while (threads < row_threads && std::int64_t{threads} * part < columns) threads *= 2;
  if (std::int64_t{threads} * part < columns)
    throw Error(fmt::format("a norm over rows of {} elements cannot run on a GPU", columns),
                fmt::format("its registers hold rows of at most {} elements", row_threads * part),
                "Train in bf16 or fp16, whose rows may be longer");
  return threads;
}

}  // namespace

void check_shape(const LaunchShape& shape, int max_threads) {
  constexpr std::int64_t max_blocks_x = 0x7fffffff;
  constexpr std::int64_t max_blocks_y = 0xffff;
  check(shape.blocks_x <= max_blocks_x && shape.blocks_y <= max_blocks_y,
        "a grid of {} x {} blocks", shape.blocks_x, shape.blocks_y);
  check(shape.threads_x % warp == 0 && shape.threads_x * shape.threads_y <= max_threads,
        "blocks of {} x {} threads for a kernel of {}", shape.threads_x, shape.threads_y,
        max_threads);
  check(shape.shared_bytes <= shared_limit, "{} bytes of shared memory", shape.shared_bytes);
}

void check_shared(const LaunchShape& shape, std::size_t of_device) {
  if (shape.shared_bytes <= of_device) return;
  throw Error(fmt::format("a kernel needs {} bytes of shared memory per block", shape.shared_bytes),
              fmt::format("this GPU has {} bytes", of_device),
              "Use shorter rows or smaller heads, or a GPU for data centres (A100, H100, B200)");
}

LaunchShape pointwise_shape(std::int64_t n, int width) {
  return {.blocks_x = blocks_over(n, std::int64_t{block_threads} * width),
          .threads_x = block_threads};
}

LaunchShape tile_shape(std::int64_t rows, std::int64_t columns, int width) {
  const std::int64_t pieces = blocks_over(columns, width);
  const std::int64_t tiles = std::max<std::int64_t>(1, blocks_over(pieces, block_threads));
  const auto across = static_cast<int>(blocks_over(blocks_over(pieces, tiles), warp)) * warp;
  const int threads_x = std::max(across, warp);
  const int threads_y = block_threads / threads_x;
  return {.blocks_x = columns == 0 ? 0 : blocks_over(rows, threads_y),
          .blocks_y = tiles,
          .threads_x = threads_x,
          .threads_y = threads_y};
}

LaunchShape row_shape(std::int64_t rows, std::int64_t columns, int part) {
  const int threads_x = threads_of_row(columns, part);
  const int threads_y = std::max(1, block_threads / threads_x);
  return {.blocks_x = blocks_over(rows, threads_y),
          .threads_x = threads_x,
          .threads_y = threads_y,
          .shared_bytes = row_sum_slots * sizeof(float)};
}

std::int64_t gradient_rows(std::int64_t rows) {
  constexpr std::int64_t least = 8;  // short rows: a CUDA block works on this many at a time
  constexpr std::int64_t enough_blocks = 512;
  std::int64_t of_block = rows_per_block;
  while (of_block > least && blocks_over(rows, of_block) < enough_blocks) of_block /= 2;
  return of_block;
}

std::int64_t gradient_blocks(std::int64_t rows) {
  return blocks_over(rows, gradient_rows(rows));
}

LaunchShape gradient_shape(std::int64_t rows, std::int64_t columns, int part, int sums) {
  LaunchShape shape = row_shape(rows, columns, part);
  shape.blocks_x = gradient_blocks(rows);
  const int of_row = held_by_thread(columns, shape.threads_x, part / row_pieces) * shape.threads_x;
  shape.shared_bytes += static_cast<std::size_t>(sums * shape.threads_y * of_row) * sizeof(float);
  return shape;
}

int threads_of_head(std::int64_t columns, int width) {
  int threads = 1;
  while (threads < warp && std::int64_t{threads} * width < columns) threads *= 2;
  return threads;
}

LaunchShape head_sum_shape(std::int64_t heads, std::int64_t columns, int width) {
  return {.blocks_x = blocks_over(heads * threads_of_head(columns, width), head_block_threads),
          .threads_x = head_block_threads};
}

std::int64_t head_gradient_rows(std::int64_t heads) {
  constexpr std::int64_t most_blocks = 1024;
  std::int64_t of_block = gradient_rows(heads);
  while (blocks_over(heads, of_block) > most_blocks) of_block *= 2;
  return of_block;
}

std::int64_t head_gradient_blocks(std::int64_t heads) {
  return blocks_over(heads, head_gradient_rows(heads));
}

LaunchShape head_gradient_shape(std::int64_t heads, std::int64_t columns, int width) {
  const std::int64_t across = std::int64_t{threads_of_head(columns, width)} * width;
  return {.blocks_x = head_gradient_blocks(heads),
          .blocks_y = blocks_over(columns, across),
          .threads_x = head_block_threads,
          .shared_bytes = static_cast<std::size_t>(head_block_threads * width) * sizeof(float)};
}

// Two CUDA blocks of short rows (GPT-2's in 16 bits) fit into the shared memory of an sm_90
// multiprocessor, so that one computes while the other waits for memory. A longer row gets all
// threads.
LaunchShape long_row_shape(std::int64_t rows, std::int64_t row_bytes) {
  constexpr std::int64_t short_row = std::int64_t{112} << 10;
  return {.blocks_x = rows,
          .threads_x = row_bytes <= short_row ? long_row_threads / 2 : long_row_threads,
          .shared_bytes = long_row_slots};
}

std::size_t held_bytes(std::int64_t row_bytes, std::size_t shared_bytes) {
  const std::size_t room = std::min(shared_bytes, shared_limit) - long_row_slots;
  return std::min(static_cast<std::size_t>(row_bytes), room) / 16 * 16;
}

std::int64_t column_blocks(std::int64_t columns, int width) {
  return blocks_over(columns, std::int64_t{warp} * width);
}

LaunchShape column_sum_shape(std::int64_t rows, std::int64_t columns, int width) {
  constexpr int down = block_threads / warp;
  return {.blocks_x = column_blocks(columns, width) * row_blocks(rows),
          .threads_x = warp,
          .threads_y = down,
          .shared_bytes = static_cast<std::size_t>(down * warp * width) * sizeof(float)};
}

// There are few blocks here, so each gets many warps, which share the rows.
LaunchShape partial_rows_shape(std::int64_t columns, std::int64_t sums) {
  constexpr int down = partial_rows_threads / warp;
  return {.blocks_x = blocks_over(columns, warp),
          .blocks_y = sums,
          .threads_x = warp,
          .threads_y = down,
          .shared_bytes = static_cast<std::size_t>(down * warp) * sizeof(double)};
}

LaunchShape transposed_shape(std::int64_t rows, std::int64_t columns) {
  return {.blocks_x = blocks_over(rows, transposed_side),
          .blocks_y = blocks_over(columns, transposed_side),
          .threads_x = block_threads,
          .shared_bytes = static_cast<std::size_t>(transposed_place(transposed_side))};
}

LaunchShape order_shape(std::int64_t rows) {
  LaunchShape shape = pointwise_shape(rows, 1);
  shape.shared_bytes = static_cast<std::size_t>(shape.threads_x) * sizeof(std::int64_t);
  return shape;
}

LaunchShape sum_shape(std::int64_t n, int width) {
  LaunchShape shape = pointwise_shape(n, width);
  shape.blocks_x = std::min(shape.blocks_x, max_sum_parts);
  shape.shared_bytes = row_sum_slots * sizeof(double);
  return shape;
}

LaunchShape parts_shape() {
  return {.blocks_x = 1,
          .threads_x = static_cast<int>(max_sum_parts),
          .shared_bytes = row_sum_slots * sizeof(double)};
}

}  // namespace triax::cuda
