// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of paged attention into tiles of queries, and the memory of their sums.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/attention/paged/paged_cache.hpp"

namespace triax::paged {

inline constexpr std::int64_t tile_rows = 32;  // (position, query head) pairs that share a key head
inline constexpr std::int64_t split_size = 1024;  // positions of one partial result
inline constexpr std::int64_t enough_tasks = 32;  // fewer are divided into splits

struct PagedSizes {
  std::int64_t heads, kv_heads, head_size, page_tokens;
  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t tile_positions() const { return std::max<std::int64_t>(1, tile_rows / group()); }
  std::int64_t rows_of_tile() const { return tile_positions() * group(); }
};

// Sums over some positions for the rows of a tile.
struct PartSums {
  float* sums;   // (rows, D): sums of exp(score - largest) v
  float* stats;  // (rows, 2): largest score, sum of exp(score - largest)

  static std::int64_t floats(const PagedSizes& n) { return n.rows_of_tile() * (n.head_size + 2); }
  PartSums(float* memory, const PagedSizes& n)
      : sums(memory), stats(memory + n.rows_of_tile() * n.head_size) {}
  void clear(std::int64_t rows, std::int64_t head_size) const {
    std::fill_n(sums, rows * head_size, 0.0F);
    for (std::int64_t row = 0; row < rows; ++row) {
      stats[2 * row] = -std::numeric_limits<float>::infinity();
      stats[2 * row + 1] = 0.0F;
    }
  }
};

// Memory of one thread.
struct TileMemory {
  float* queries;  // (rows, D)
  float* scores;   // (rows, span)
  PartSums part, all;

  static std::int64_t floats(const PagedSizes& n) {
    return n.rows_of_tile() * (n.head_size + paged_span) + 2 * PartSums::floats(n);
  }
  TileMemory(float* memory, const PagedSizes& n)
      : queries(memory),
        scores(queries + n.rows_of_tile() * n.head_size),
        part(scores + n.rows_of_tile() * paged_span, n),
        all(scores + n.rows_of_tile() * paged_span + PartSums::floats(n), n) {}
};

// Queries of consecutive positions of a chunk, of the heads that read key head g: row r is position
// `first` + r / group.
struct QueryTile {
  const PagedChunk* chunk;
  std::int64_t first, positions, g;
  std::int64_t last() const { return first + positions - 1; }
  std::int64_t row(std::int64_t position) const {
    return chunk->first_row + position - chunk->past;
  }
};

// Tiles of all chunks and key heads, in order: those of one chunk together.
class Tiles {
 public:
  // `starts` gets the first tile of each chunk, and their number: one element more than `chunks`.
  Tiles(std::span<const PagedChunk> chunks, const PagedSizes& n, std::span<std::int32_t> starts)
      : chunks_(chunks), n_(n), starts_(starts) {
    std::int32_t count = 0;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      starts[i] = count;
      const std::int64_t positions = n.tile_positions();
      count += static_cast<std::int32_t>((chunks[i].rows + positions - 1) / positions * n.kv_heads);
    }
    starts[chunks.size()] = count;
  }
  std::int64_t count() const { return starts_.back(); }
  QueryTile at(std::int64_t number) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), number);
    const auto which = static_cast<std::size_t>(after - starts_.begin() - 1);
    const PagedChunk& chunk = chunks_[which];
    const std::int64_t inside = number - starts_[which];
    const std::int64_t begin = inside / n_.kv_heads * n_.tile_positions();
    return {&chunk, chunk.past + begin, std::min(n_.tile_positions(), chunk.rows - begin),
            inside % n_.kv_heads};
  }

 private:
  std::span<const PagedChunk> chunks_;
  PagedSizes n_;
  std::span<std::int32_t> starts_;
};

}  // namespace triax::paged
