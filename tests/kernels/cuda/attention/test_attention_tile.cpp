// SPDX-License-Identifier: Apache-2.0
// Tests of attention tiles on tensor cores: where elements lie, and which calls use them.
#include "kernels/cuda/attention/attention_dropout.hpp"

#include <gtest/gtest.h>

#include <set>
#include <span>
#include <tuple>
#include <vector>

namespace triax::cuda {
namespace {

// Number of the 16-byte column (of eight in 32 banks) at an offset in 16-bit elements.
int bank(int offset) {
  return offset * 2 / 16 % 8;
}

template <int width>
void expect_lanes_read_matrices_without_conflict() {
  std::uint16_t* none = nullptr;
  for (int piece = 0; piece < width / 8; piece += 2)
    for (int m = 0; m < 4; ++m) {
      std::set<int> down, across;
      for (int lane = 8 * m; lane < 8 * m + 8; ++lane) {
        const int at_down = offset_down_first<width>(lane) ^ 8 * piece;
        const int at_across = offset_across_first<width>(lane) ^ 8 * piece;
        // Lane 8 m + i points to row i of matrix m. Matrices go down first, or across first.
        EXPECT_EQ(none + at_down, tile_piece<width>(none, m % 2 * 8 + lane % 8, piece + m / 2));
        EXPECT_EQ(none + at_across, tile_piece<width>(none, m / 2 * 8 + lane % 8, piece + m % 2));
        down.insert(bank(at_down));
        across.insert(bank(at_across));
      }
      EXPECT_EQ(down.size(), 8U) << "eight rows of one matrix in one access";
      EXPECT_EQ(across.size(), 8U);
    }
}

TEST(AttentionTile, LanesReadMatricesWithoutConflict) {
  expect_lanes_read_matrices_without_conflict<narrow_head>();
  expect_lanes_read_matrices_without_conflict<wide_head>();
}

TEST(AttentionTile, EveryElementHasItsPlace) {
  std::uint16_t* none = nullptr;
  std::set<std::uint16_t*> places;
  for (int row = 0; row < 16; ++row)
    for (int piece = 0; piece < 8; ++piece) places.insert(tile_piece<64>(none, row, piece));
  EXPECT_EQ(places.size(), 128U);
  EXPECT_EQ(*places.rbegin(), none + 15 * 64 + 7 * 8);
}

// A warp's dropout bits for scores whose dropped elements are listed on the host, and how many
// fours each lane computed.
template <bool along_rows, int strips, int columns>
struct AskForScores {
  static constexpr int max_threads = warp;
  const std::set<std::pair<int, int>>* dropped;  // (row, column)
  std::uint64_t* bits;
  int* fours;

  void operator()(const Block& block) const {
    const auto kept = [&](int row, int column) {
      EXPECT_EQ((along_rows ? column : row) % 4, 0);
      ++fours[block.thread_x()];
      std::uint32_t four = 0;
      for (int i = 0; i < 4; ++i)
        if (!dropped->contains(along_rows ? std::pair(row, column + i)
                                          : std::pair(row + i, column)))
          four |= 1U << i;
      return four;
    };
    if constexpr (along_rows)
      bits[block.thread_x()] = kept_along_rows<strips, columns>(block, kept);
    else
      bits[block.thread_x()] = kept_along_columns<strips, columns>(block, kept);
  }
};

template <bool along_rows, int strips, int columns>
void expect_each_four_is_made_once() {
  std::set<std::pair<int, int>> dropped;
  for (int row = 0; row < strips * 16; ++row)
    for (int column = 0; column < columns * 8; ++column)
      if ((row * 37 + column * 11) % 7 % 3 == 0) dropped.emplace(row, column);
  std::uint64_t bits[warp] = {};
  int fours[warp] = {};
  using Ask = AskForScores<along_rows, strips, columns>;
  const Ask ask{&dropped, bits, fours};
  emulator::run(
      {.blocks_x = 1},
      [](const void* of, const Block& block) { (*static_cast<const Ask*>(of))(block); }, &ask);
  for (int lane = 0; lane < warp; ++lane) {
    EXPECT_EQ(fours[lane], strips * columns);
    for (int at = 0; at < strips * columns * 4; ++at) {
      const auto place = std::pair(score_row(lane, at / 4 / columns, at % 4),
                                   score_column(lane, at / 4 % columns, at % 4));
      EXPECT_EQ(bits[lane] >> at & 1U, dropped.contains(place) ? 0U : 1U) << lane << ' ' << at;
    }
  }
}

TEST(AttentionTile, DropoutOfNeighbouringScoresIsMadeOnce) {
  expect_each_four_is_made_once<true, 2, 8>();
  expect_each_four_is_made_once<true, 1, 4>();
  expect_each_four_is_made_once<false, 1, 8>();
  expect_each_four_is_made_once<false, 1, 4>();
}

struct SeeTiles {
  const AttentionTask& task;
  std::vector<AttentionPlace>& queries;
  std::vector<AttentionPlace>& keys;
  int rows;

  void operator()(const Block& block) const {
    if (block.thread_x() != 0) return;
    queries.push_back(query_tile(block, task, rows));
    const std::int64_t key_blocks = task.batch * task.key_heads * ((task.length + rows - 1) / rows);
    if (block.index_x() < key_blocks) keys.push_back(key_tile(block, task, rows));
  }
};

// Key heads read by the first `blocks` CUDA blocks.
std::set<std::pair<std::int64_t, int>> key_heads(const std::vector<AttentionPlace>& places,
                                                 int blocks, int group) {
  std::set<std::pair<std::int64_t, int>> heads;
  for (const AttentionPlace& at : std::span(places).first(static_cast<std::size_t>(blocks)))
    heads.emplace(at.b, at.h / group);
  return heads;
}

// 12 query heads share 4 key heads, in 3 samples. The keys and values of 8 key heads fill the
// cache; so do the queries of 2.
TEST(AttentionTile, BlocksThatRunTogetherReadTheSameRows) {
  constexpr int rows = 512;
  constexpr int tiles = 8;
  const Shape shape = {3, tiles * rows, 12, 128};
  const Buffer memory(static_cast<std::size_t>(shape.elements()) * 2);
  const Tensor q = memory.tensor(DType::bf16, shape);
  const Tensor k = q.slice(2, 0, 4);
  const AttentionOptions options;
  const AttentionTask task(triax::attention::sizes_of(q, k, k, options), options, DType::bf16);
  std::vector<AttentionPlace> queries, keys;
  const SeeTiles see{task, queries, keys, rows};
  emulator::run(
      {.blocks_x = 36 * tiles},
      [](const void* of, const Block& block) { (*static_cast<const SeeTiles*>(of))(block); }, &see);
  for (const auto& places : {queries, keys}) {
    std::set<std::tuple<int, int, std::int64_t>> all;
    for (const AttentionPlace& at : places) all.emplace(at.tile, at.h, at.b);
    EXPECT_EQ(all.size(), places.size());
  }
  EXPECT_EQ(queries.size(), 36U * tiles);
  EXPECT_EQ(keys.size(), 12U * tiles);
  EXPECT_EQ(key_heads(queries, 24 * tiles, 3).size(), 8U);
  EXPECT_EQ(key_heads(keys, 2 * tiles, 1).size(), 2U);
  EXPECT_EQ(queries[23].tile, tiles - 1) << "the most keys first";
  EXPECT_EQ(queries[24].tile, tiles - 2);
  EXPECT_EQ(queries[24 * tiles].tile, tiles - 1) << "and again of the heads that follow";
  EXPECT_EQ(keys[1].tile, 0);
  EXPECT_EQ(keys[2].tile, 1);
}

// Width of the tensor-core kernel chosen for a call; 0 for the plain kernel. offset: of q, in
// elements.
int width_for(DType type, std::int64_t head_size, float scale = 0.5F, std::int64_t offset = 0) {
  const Shape shape = {1, 10, 2, head_size};
  const Buffer memory(static_cast<std::size_t>(shape.elements() + offset) * size_of(type));
  const Tensor whole = memory.tensor(type, {shape.elements() + offset});
  const Tensor q = whole.slice(0, offset, shape.elements()).reshape(shape);
  AttentionOptions options;
  options.scale = scale;
  const AttentionTask task(triax::attention::sizes_of(q, q, q, options), options, type);
  int chosen = 0;
  const bool done = on_tensor_cores(task, {&q}, [&]<class T, int width>(Type<T>, Width<width>) {
    EXPECT_EQ(dtype_of<T>(), type);
    chosen = width;
  });
  EXPECT_EQ(done, chosen > 0);
  return chosen;
}

TEST(AttentionTile, WhatGoesToTensorCores) {
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const std::int64_t head_size : {8L, 16L, 64L})
      EXPECT_EQ(width_for(type, head_size), narrow_head);
    for (const std::int64_t head_size : {72L, 80L, 96L, 128L})
      EXPECT_EQ(width_for(type, head_size), wide_head);
    EXPECT_EQ(width_for(type, 136), 0) << "too wide";
    EXPECT_EQ(width_for(type, 65), 0) << "rows of other than whole pieces";
    EXPECT_EQ(width_for(type, 64, 0.5F, 4), 0) << "8 bytes from an aligned address";
    EXPECT_EQ(width_for(type, 64, 0.5F, 8), narrow_head);
    EXPECT_EQ(width_for(type, 64, 0.0F), 0);
    EXPECT_EQ(width_for(type, 64, -1.0F), 0);
  }
  EXPECT_EQ(width_for(DType::f32, 64), 0);
}

}  // namespace
}  // namespace triax::cuda
