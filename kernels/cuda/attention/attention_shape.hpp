// SPDX-License-Identifier: Apache-2.0
#pragma once
// How attention is cut into CUDA blocks, and the shared memory of each.
#include "kernels/cuda/launch/launch_shape.hpp"

namespace triax::cuda {

/// Tile sizes on tensor cores. A block holds one tile of rows and walks over tiles of the others:
/// over keys if it holds queries, over queries if it holds keys. A warp holds `strips` times 16
/// rows.
struct AttentionCut {
  int warps;
  int strips;
  int walked;  // rows of a tile that is walked over
  constexpr int threads() const { return warps * warp; }
  constexpr int held_by_warp() const { return strips * 16; }
  constexpr int held() const { return warps * held_by_warp(); }
};

/// Head sizes that tensor cores are compiled for. A head takes the next larger one, padded with
/// zeros.
inline constexpr int narrow_head = 64;
inline constexpr int wide_head = 128;

// Tiles as large as registers allow: sums of `width` columns for the rows held, and the scores.
// Masks of documents take registers too.
constexpr AttentionCut forward_cut(int width, bool documents = false) {
  return width == narrow_head && !documents ? AttentionCut{.warps = 4, .strips = 2, .walked = 64}
                                            : AttentionCut{.warps = 8, .strips = 1, .walked = 64};
}
constexpr AttentionCut query_gradient_cut(int width) {
  return width == narrow_head ? AttentionCut{.warps = 4, .strips = 2, .walked = 32}
                              : AttentionCut{.warps = 8, .strips = 1, .walked = 32};
}
constexpr AttentionCut key_gradient_cut(int width) {
  return {.warps = 4, .strips = 1, .walked = width == narrow_head ? 64 : 32};
}

/// heads: number of heads in all samples; for the key gradient, of key heads.
LaunchShape attention_forward_shape(std::int64_t heads, std::int64_t length, int width,
                                    bool documents = false);
LaunchShape attention_query_gradient_shape(std::int64_t heads, std::int64_t length, int width);
LaunchShape attention_key_gradient_shape(std::int64_t heads, std::int64_t length, int width);

/// Upper limit (bytes) of what concurrent blocks read repeatedly: half of the L2 cache of a
/// data-centre GPU (40 MB and more) holds it beside data that is read once.
inline constexpr std::int64_t cached_bytes = std::int64_t{16} << 20;
/// Heads whose tiles run side by side, so that the rows that they walk over are fetched from memory
/// once: as many as have two (rows, head_size) tensors in cached_bytes, and at least one.
constexpr std::int64_t heads_together(std::int64_t rows, std::int64_t head_size,
                                      std::size_t element_bytes) {
  const std::int64_t of_head = 2 * rows * head_size * static_cast<std::int64_t>(element_bytes);
  return of_head < cached_bytes ? cached_bytes / of_head : 1;
}

/// Tile `tile` of head `head`, counted over all samples.
struct TileOfHead {
  int tile;
  int head;
};
/// The tile of block `index`: groups of `together` heads run one group after the other, tile 0 of
/// all heads of a group first. Block numbers fit into 32 bits (check_shape), whose division takes a
/// third of the time of 64 bits.
constexpr TileOfHead tile_of_block(std::uint32_t index, std::uint32_t heads, std::uint32_t tiles,
                                   std::uint32_t together) {
  if (together > heads) together = heads;
  const std::uint32_t first = index / (together * tiles) * together;
  const std::uint32_t place = index - first * tiles;
  const std::uint32_t here = heads - first < together ? heads - first : together;
  return {static_cast<int>(place / here), static_cast<int>(first + place % here)};
}

/// Sums over the columns of `rows` rows, with row_sum_lanes threads per row.
inline constexpr int row_sum_lanes = 8;
LaunchShape attention_row_sums_shape(std::int64_t rows);

/// Tiles of the plain kernels: square, float32. A block keeps row_tiles tiles of (rows, head_size)
/// and score_tiles tiles of scores.
struct PlainCut {
  int rows;
  std::size_t shared_bytes;
};
inline constexpr int plain_warps = 8;
inline constexpr int plain_rows = 32;               // most rows of a tile
inline constexpr int plain_pitch = plain_rows + 1;  // floats between rows of a tile of scores
/// Floats between rows of a tile. The number is odd, so that neighbouring rows lie in different
/// banks.
constexpr int plain_row_pitch(int head_size) {
  return head_size | 1;
}
/// The largest tiles that fit into a block's shared memory. Throws an Error if not even one row of
/// each fits.
/// shared_bytes: shared memory that the device offers one block.
PlainCut plain_attention_cut(std::int64_t head_size, int row_tiles, int score_tiles,
                             std::size_t shared_bytes = shared_limit);
LaunchShape plain_attention_shape(std::int64_t heads, std::int64_t length, const PlainCut& cut);

/// Cached attention: one block per (range of positions, row), which keeps the scores of that range.
inline constexpr int cached_threads = 128;
LaunchShape cached_attention_shape(std::int64_t rows, std::int64_t parts, std::int64_t part);

}  // namespace triax::cuda
