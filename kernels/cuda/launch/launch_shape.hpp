// SPDX-License-Identifier: Apache-2.0
#pragma once
// How work is cut into CUDA blocks and threads. Shapes depend on sizes alone, and so does the order
// of every sum.
#include <cstddef>
#include <cstdint>

namespace triax::cuda {

inline constexpr int warp = 32;  // threads that run in step
/// Most shared memory (bytes) that a CUDA block asks for: what sm_80 has. Later data-centre GPUs
/// have more, but asking for no more keeps one order of sums on all of them. sm_86, sm_89 and
/// sm_120 have less (99 KiB): plain attention uses smaller tiles there, and norms of the longest
/// rows are refused.
inline constexpr std::size_t shared_limit = 166912;

/// A grid of CUDA blocks. threads_x is a multiple of a warp.
struct LaunchShape {
  std::int64_t blocks_x = 0;
  std::int64_t blocks_y = 1;
  int threads_x = warp;
  int threads_y = 1;
  std::size_t shared_bytes = 0;  // per CUDA block

  bool operator==(const LaunchShape&) const = default;
};

/// Throws an Error if a CUDA block needs more shared memory than the GPU offers one block.
void check_shared(const LaunchShape& shape, std::size_t of_device);

/// Throws an internal error for a grid that no GPU takes, or for more threads than the kernel was
/// compiled for.
void check_shape(const LaunchShape& shape, int max_threads);

/// n elements, `width` per thread.
LaunchShape pointwise_shape(std::int64_t n, int width);

/// A (rows, columns) matrix in tiles, `width` neighbouring columns per thread: blocks_x over rows,
/// blocks_y over columns.
LaunchShape tile_shape(std::int64_t rows, std::int64_t columns, int width);

/// Most elements of a row that one thread holds in registers: four pieces of 16 bytes.
inline constexpr int row_pieces = 4;
template <class T>
inline constexpr int row_part = static_cast<int>(row_pieces * 16 / sizeof(T));

/// Rows held in registers, `part` elements per thread: threads_x threads per row, threads_y rows
/// per CUDA block. Throws an Error if a row is too long.
LaunchShape row_shape(std::int64_t rows, std::int64_t columns, int part);

/// Floats of shared memory for sums over a row's threads (row_sum.hpp).
inline constexpr int row_sum_slots = 64;

/// row_shape for a pass that also sums `sums` values per column over gradient_rows() rows: one CUDA
/// block, with shared memory for its sums, per gradient_rows() rows. That is fewer rows than the
/// host's rows_per_block if there would be fewer than 512 blocks, so that every multiprocessor of a
/// GPU has two and more.
std::int64_t gradient_rows(std::int64_t rows);
std::int64_t gradient_blocks(std::int64_t rows);
LaunchShape gradient_shape(std::int64_t rows, std::int64_t columns, int part, int sums);

/// Elements per thread of a row of `columns`, in whole pieces of `width`; the last piece may be
/// incomplete.
constexpr int held_by_thread(std::int64_t columns, int threads, int width) {
  const std::int64_t together = std::int64_t{threads} * width;
  return static_cast<int>((columns + together - 1) / together) * width;
}

/// Heads (QK-norm), most of them too short for a warp: threads of one head, a power of two up to a
/// warp, that together hold `width` columns each. They take turns over a longer head.
int threads_of_head(std::int64_t columns, int width);
inline constexpr int head_block_threads = 256;  // per CUDA block
/// One sum per head.
LaunchShape head_sum_shape(std::int64_t heads, std::int64_t columns, int width);
/// Sums per column over head_gradient_rows() heads: one CUDA block per so many heads (blocks_x) and
/// per threads_of_head() * width columns (blocks_y), with shared memory for the sums of its
/// threads. gradient_rows(), or more heads if there would be over 1024 blocks: each makes a partial
/// row.
std::int64_t head_gradient_rows(std::int64_t heads);
std::int64_t head_gradient_blocks(std::int64_t heads);
LaunchShape head_gradient_shape(std::int64_t heads, std::int64_t columns, int width);

/// One CUDA block per row, for rows too long for registers (logits).
inline constexpr int long_row_threads = 1024;  // per CUDA block, at most
LaunchShape long_row_shape(std::int64_t rows, std::int64_t row_bytes);
/// Bytes of a row of `row_bytes` that its CUDA block keeps in shared memory beside its slots, in
/// whole pieces of 16. The block reads the rest again, so results are the same on every GPU.
/// shared_bytes: shared memory that the device offers one block.
std::size_t held_bytes(std::int64_t row_bytes, std::size_t shared_bytes);

/// CUDA blocks over `columns` columns: one warp per row, `width` columns per thread.
std::int64_t column_blocks(std::int64_t columns, int width);

/// Column sums over `rows_per_block` rows each, `width` columns per thread. The column_blocks()
/// blocks of one group of rows are neighbours.
LaunchShape column_sum_shape(std::int64_t rows, std::int64_t columns, int width);

/// Sums of partial rows: blocks_x over columns, blocks_y over `sums` matrices of the same shape.
inline constexpr int partial_rows_threads = 1024;  // per CUDA block
LaunchShape partial_rows_shape(std::int64_t columns, std::int64_t sums);

/// Transposition of a byte matrix, one square tile per CUDA block: blocks_x over rows, blocks_y
/// over columns.
inline constexpr int transposed_side = 64;
/// Offset (bytes) of a tile's column in shared memory: whole 16-byte pieces, plus one piece after
/// every eight columns. Lanes that write every eighth column, and lanes that read two columns piece
/// by piece, then use different banks.
constexpr int transposed_place(int column) {
  return column * transposed_side + column / 8 * 16;
}
LaunchShape transposed_shape(std::int64_t rows, std::int64_t columns);

/// Sort of rows within a CUDA block, one row per thread, through shared memory.
LaunchShape order_shape(std::int64_t rows);

/// Sum over n elements in as many partial sums as there are CUDA blocks, at most max_sum_parts.
inline constexpr std::int64_t max_sum_parts = 1024;
LaunchShape sum_shape(std::int64_t n, int width);
/// Sum of the partial sums: one CUDA block, one thread per partial sum.
LaunchShape parts_shape();

}  // namespace triax::cuda
