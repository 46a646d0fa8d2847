#pragma once
// How work is cut into blocks and threads: functions of the sizes alone, so that the order of every
// sum is too.
#include <cstddef>
#include <cstdint>

namespace triax::cuda {

inline constexpr int warp = 32;  // threads that run in step
/// Bytes of shared memory that a block asks for at most: what sm_80 has. Later GPUs for data
/// centres have more and are asked for no more, so that sums have one order; others have less
/// (sm_86, sm_89, sm_120: 99 KiB), and what can be cut is cut to that.
inline constexpr std::size_t shared_limit = 166912;

/// A grid of blocks of threads; threads_x is a multiple of a warp.
struct LaunchShape {
  std::int64_t blocks_x = 0;
  std::int64_t blocks_y = 1;
  int threads_x = warp;
  int threads_y = 1;
  std::size_t shared_bytes = 0;  // of a block

  bool operator==(const LaunchShape&) const = default;
};

/// An Error for a block with more shared memory than the GPU has for one.
void check_shared(const LaunchShape& shape, std::size_t of_device);

/// An internal error for what no GPU takes, or more threads than the kernel was compiled for.
void check_shape(const LaunchShape& shape, int max_threads);

/// `n` elements, `width` a thread.
LaunchShape pointwise_shape(std::int64_t n, int width);

/// A (rows, columns) matrix in tiles, `width` neighbouring columns a thread: blocks_x over rows,
/// blocks_y over columns.
LaunchShape tile_shape(std::int64_t rows, std::int64_t columns, int width);

/// Elements of a row of T that each of its threads holds at most, where rows are held in registers:
/// four pieces of 16 bytes.
inline constexpr int row_pieces = 4;
template <class T>
inline constexpr int row_part = static_cast<int>(row_pieces * 16 / sizeof(T));

/// Rows held in registers, `part` elements a thread: threads_x threads a row, threads_y rows a
/// block. An Error where a row is too long to be held.
LaunchShape row_shape(std::int64_t rows, std::int64_t columns, int part);

/// Floats of shared memory for the sums over rows of threads (row_sum.hpp).
inline constexpr int row_sum_slots = 64;

/// The same for a pass that also sums `sums` values a column over each gradient_rows() rows: a
/// block for those, and shared memory for its sums. Those are fewer than the host's rows_per_block
/// where there would be too few blocks for the multiprocessors of a GPU, two for each and more.
std::int64_t gradient_rows(std::int64_t rows);
std::int64_t gradient_blocks(std::int64_t rows);
LaunchShape gradient_shape(std::int64_t rows, std::int64_t columns, int part, int sums);

/// Elements that each of a row's threads holds of its `columns`, as pieces of `width`; the last may
/// not be there.
constexpr int held_by_thread(std::int64_t columns, int threads, int width) {
  const std::int64_t together = std::int64_t{threads} * width;
  return static_cast<int>((columns + together - 1) / together) * width;
}

/// A block a row, for rows too long for registers (logits).
inline constexpr int long_row_threads = 1024;  // of a block at most
LaunchShape long_row_shape(std::int64_t rows, std::int64_t row_bytes);
/// Of `row_bytes` those that such a block keeps in shared memory beside its slots, where the device
/// has `shared_bytes` for one: whole pieces of 16. What it does not keep it reads again, so that
/// results are the same on every GPU.
std::size_t held_bytes(std::int64_t row_bytes, std::size_t shared_bytes);

/// Blocks over so many columns, `width` of them a thread and a warp a row.
std::int64_t column_blocks(std::int64_t columns, int width);

/// Sums of columns over each `rows_per_block` rows, of `width` columns a thread: column_blocks()
/// blocks next to each other for each part of the rows.
LaunchShape column_sum_shape(std::int64_t rows, std::int64_t columns, int width);

/// The sums of partial rows: blocks_x over columns, blocks_y over `sums` of as many.
inline constexpr int partial_rows_threads = 1024;  // of a block
LaunchShape partial_rows_shape(std::int64_t columns, std::int64_t sums);

/// A matrix of bytes transposed, a square tile a block: blocks_x over rows, blocks_y over columns.
inline constexpr int transposed_side = 64;
/// Where in shared memory the bytes of a tile's column begin: whole pieces of 16, and one more for
/// every eight columns. So both the lanes that write to every eighth column and those that read
/// two columns piece by piece want different banks.
constexpr int transposed_place(int column) {
  return column * transposed_side + column / 8 * 16;
}
LaunchShape transposed_shape(std::int64_t rows, std::int64_t columns);

/// Rows put in order, one a thread, which pass each other in shared memory.
LaunchShape order_shape(std::int64_t rows);

/// A sum over `n` elements in as many parts as there are blocks, at most max_sum_parts.
inline constexpr std::int64_t max_sum_parts = 1024;
LaunchShape sum_shape(std::int64_t n, int width);
/// The sum of the parts: a block, a thread a part.
LaunchShape parts_shape();

}  // namespace triax::cuda
