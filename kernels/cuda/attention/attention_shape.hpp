#pragma once
// How attention is cut into blocks, and what each block has in shared memory.
#include "kernels/cuda/launch/launch_shape.hpp"

namespace triax::cuda {

/// On tensor cores a block holds a tile of rows and walks over tiles of others: of keys, where it
/// holds queries, and the other way round. A warp holds `strips` times 16 rows.
struct AttentionCut {
  int warps;
  int strips;
  int walked;  // rows of a tile that is walked over
  constexpr int threads() const { return warps * warp; }
  constexpr int held_by_warp() const { return strips * 16; }
  constexpr int held() const { return warps * held_by_warp(); }
};

/// The widest head that tensor cores take: of the next of these widths, with zeros beyond.
inline constexpr int narrow_head = 64;
inline constexpr int wide_head = 128;

// As much as registers hold: sums of `width` columns for the rows held, and scores.
constexpr AttentionCut forward_cut(int width) {
  return width == narrow_head ? AttentionCut{.warps = 4, .strips = 2, .walked = 64}
                              : AttentionCut{.warps = 8, .strips = 1, .walked = 64};
}
constexpr AttentionCut query_gradient_cut(int width) {
  return width == narrow_head ? AttentionCut{.warps = 4, .strips = 2, .walked = 32}
                              : AttentionCut{.warps = 8, .strips = 1, .walked = 32};
}
constexpr AttentionCut key_gradient_cut(int width) {
  return {.warps = 4, .strips = 1, .walked = width == narrow_head ? 64 : 32};
}

/// `heads`: of all samples. The key gradient's are those of keys.
LaunchShape attention_forward_shape(std::int64_t heads, std::int64_t length, int width);
LaunchShape attention_query_gradient_shape(std::int64_t heads, std::int64_t length, int width);
LaunchShape attention_key_gradient_shape(std::int64_t heads, std::int64_t length, int width);

/// What blocks that run at a time are to read again and again, at most: half of the L2 cache of a
/// GPU for data centres (40 MB and more) has it beside what is read once.
inline constexpr std::int64_t cached_bytes = std::int64_t{16} << 20;
/// Heads whose tiles are worked on together, so that the rows that they walk over come from memory
/// once: as many as cached_bytes hold two tensors of (`rows`, head_size) elements of, and one.
constexpr std::int64_t heads_together(std::int64_t rows, std::int64_t head_size,
                                      std::size_t element_bytes) {
  const std::int64_t of_head = 2 * rows * head_size * static_cast<std::int64_t>(element_bytes);
  return of_head < cached_bytes ? cached_bytes / of_head : 1;
}

/// Tile `tile` of head `head`, of all samples.
struct TileOfHead {
  int tile;
  int head;
};
/// What block `index` works on: `together` heads after the other, tile 0 of all of them first. 32
/// bits hold the numbers of all blocks (check_shape), and divide in a third of the time.
constexpr TileOfHead tile_of_block(std::uint32_t index, std::uint32_t heads, std::uint32_t tiles,
                                   std::uint32_t together) {
  if (together > heads) together = heads;
  const std::uint32_t first = index / (together * tiles) * together;
  const std::uint32_t place = index - first * tiles;
  const std::uint32_t here = heads - first < together ? heads - first : together;
  return {static_cast<int>(place / here), static_cast<int>(first + place % here)};
}

/// Sums over the columns of `rows` rows, row_sum_lanes threads a row.
inline constexpr int row_sum_lanes = 8;
LaunchShape attention_row_sums_shape(std::int64_t rows);

/// The kernels for any head size and alignment, by ordinary arithmetic: square tiles in float32.
/// The first number is of tiles of rows of a head that a block keeps, the second of tiles of
/// scores.
struct PlainCut {
  int rows;
  std::size_t shared_bytes;
};
inline constexpr int plain_warps = 8;
inline constexpr int plain_rows = 32;               // of a tile at most
inline constexpr int plain_pitch = plain_rows + 1;  // of a tile of scores
/// Elements between rows of a tile: odd, so that neighbouring rows lie in different banks.
constexpr int plain_row_pitch(int head_size) {
  return head_size | 1;
}
/// As many rows as the shared memory of a block takes, `shared_bytes` of the device; an Error where
/// that is none.
PlainCut plain_attention_cut(std::int64_t head_size, int row_tiles, int score_tiles,
                             std::size_t shared_bytes = shared_limit);
LaunchShape plain_attention_shape(std::int64_t heads, std::int64_t length, const PlainCut& cut);

/// Cached attention: a block for each part of the positions of each row, whose scores it keeps.
inline constexpr int cached_threads = 128;
LaunchShape cached_attention_shape(std::int64_t rows, std::int64_t parts, std::int64_t part);

}  // namespace triax::cuda
