// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention/attention_shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/base/check.hpp"

namespace triax::cuda {
namespace {

struct Shaped {
  AttentionCut cut;
  LaunchShape shape;
};

std::vector<Shaped> shapes(std::int64_t heads, std::int64_t length, int width) {
  return {{forward_cut(width), attention_forward_shape(heads, length, width)},
          {query_gradient_cut(width), attention_query_gradient_shape(heads, length, width)},
          {key_gradient_cut(width), attention_key_gradient_shape(heads, length, width)}};
}

TEST(AttentionShape, ABlockForEachTileOfEachHead) {
  for (const int width : {narrow_head, wide_head})
    for (const std::int64_t length : {1L, 63L, 64L, 65L, 1024L, 131072L})
      for (const auto& [cut, shape] : shapes(96, length, width)) {
        EXPECT_EQ(shape.blocks_x % 96, 0);
        const std::int64_t tiles = shape.blocks_x / 96;
        EXPECT_GE(tiles * cut.held(), length);
        EXPECT_LT((tiles - 1) * cut.held(), length);
        EXPECT_EQ(shape.threads_x, cut.threads());
        EXPECT_NO_THROW(check_shape(shape, cut.threads()));
      }
  EXPECT_EQ(attention_forward_shape(0, 8, narrow_head).blocks_x, 0);
}

TEST(AttentionShape, TilesAreWholeStepsOfTheirThreads) {
  for (const int width : {narrow_head, wide_head})
    for (const auto& [cut, shape] : shapes(1, 1024, width)) {
      EXPECT_EQ(cut.walked % 16, 0) << "the depth of a product on tensor cores";
      EXPECT_EQ(cut.held() * width / 8 % cut.threads(), 0);
      EXPECT_EQ(cut.walked * width / 8 % cut.threads(), 0);
      EXPECT_LE(cut.strips * cut.walked / 8 * 4, 64) << "a bit for each of a thread's scores";
    }
}

// Shared memory computed by hand, 2 bytes per element, for the tiles that the kernels lay out.
TEST(AttentionShape, SharedMemoryHoldsTheTiles) {
  EXPECT_EQ(attention_forward_shape(1, 1, 64).shared_bytes, (128U + 2 * 64) * 64 * 2);
  EXPECT_EQ(attention_forward_shape(1, 1, 128).shared_bytes, (128U + 2 * 64) * 128 * 2);
  EXPECT_EQ(attention_query_gradient_shape(1, 1, 64).shared_bytes, (2 * 128U + 4 * 32) * 64 * 2);
  EXPECT_EQ(attention_query_gradient_shape(1, 1, 128).shared_bytes, (2 * 128U + 4 * 32) * 128 * 2);
  EXPECT_EQ(attention_key_gradient_shape(1, 1, 64).shared_bytes,
            (2 * 64U + 4 * 64) * 64 * 2 + 4 * 64 * 4);
  EXPECT_EQ(attention_key_gradient_shape(1, 1, 128).shared_bytes,
            (2 * 64U + 4 * 32) * 128 * 2 + 4 * 32 * 4);
}

TEST(AttentionShape, PlainTilesShrinkWithTheHead) {
  for (const std::int64_t head_size : {1L, 64L, 96L, 128L, 256L, 512L, 1024L}) {
    const PlainCut cut = plain_attention_cut(head_size, 6, 2);
    EXPECT_GE(cut.rows, 1);
    EXPECT_LE(cut.rows, plain_rows);
    const auto pitch = static_cast<std::size_t>(plain_row_pitch(static_cast<int>(head_size)));
    EXPECT_GE(pitch, static_cast<std::size_t>(head_size));
    EXPECT_GE(cut.shared_bytes,
              static_cast<std::size_t>(cut.rows) * (6 * pitch + 2 * plain_pitch) * sizeof(float));
    const LaunchShape shape = plain_attention_shape(12, 1000, cut);
    EXPECT_GE(shape.blocks_x / 12 * cut.rows, 1000);
    EXPECT_NO_THROW(check_shape(shape, warp * plain_warps));
  }
  EXPECT_EQ(plain_attention_cut(64, 6, 2).rows, plain_rows);
  EXPECT_THROW(plain_attention_cut(1 << 20, 6, 2), Error);
}

// Shared memory per CUDA block (KiB) by architecture (CUDA C++ Programming Guide, table of compute
// capabilities).
struct Architecture {
  const char* name;
  std::size_t kib;
};
constexpr Architecture architectures[] = {{"sm_80", 163}, {"sm_86", 99},  {"sm_87", 163},
                                          {"sm_89", 99},  {"sm_90", 227}, {"sm_100", 227},
                                          {"sm_120", 99}};

TEST(AttentionShape, TilesFitTheSharedMemoryOfEveryArchitecture) {
  for (const Architecture& architecture : architectures) {
    SCOPED_TRACE(architecture.name);
    const std::size_t limit = architecture.kib * 1024;
    for (const int width : {narrow_head, wide_head})
      for (const Shaped& shaped : shapes(12, 1024, width))
        EXPECT_NO_THROW(check_shared(shaped.shape, limit));
    for (const std::int64_t head_size : {1L, 80L, 128L, 192L, 256L, 512L, 1024L})
      for (const auto& [rows, scores] : {std::pair{3, 1}, std::pair{5, 1}, std::pair{6, 2}}) {
        const PlainCut cut = plain_attention_cut(head_size, rows, scores, limit);
        EXPECT_NO_THROW(check_shared(plain_attention_shape(12, 1000, cut), limit));
        if (limit >= shared_limit) {
          EXPECT_EQ(cut.rows, plain_attention_cut(head_size, rows, scores).rows)
              << "GPUs for data centres sum in one order";
        }
      }
  }
  // Fewer rows than on sm_80.
  EXPECT_LT(plain_attention_cut(256, 6, 2, 99 * 1024).rows, plain_attention_cut(256, 6, 2).rows);
}

TEST(AttentionShape, HeadsTogetherFitTheCache) {
  EXPECT_EQ(heads_together(1024, 64, 2), 64);
  EXPECT_EQ(heads_together(4096, 128, 2), 8);
  EXPECT_EQ(heads_together(4096 * 4, 128, 2), 2) << "the queries of four heads";
  EXPECT_EQ(heads_together(4097, 128, 2), 7);
  EXPECT_EQ(heads_together(4096, 128, 4), 4);
  EXPECT_EQ(heads_together(std::int64_t{1} << 29, 256, 4), 1) << "what no cache holds";
  EXPECT_EQ(heads_together(1, 1, 2), cached_bytes / 4);
}

// Groups of whole heads follow one another (the last group may be smaller); within a group, the
// first tiles come first.
TEST(AttentionShape, BlocksOfHeadsTogetherFollowEachOther) {
  for (const std::uint32_t heads : {1U, 7U, 8U, 12U})
    for (const std::uint32_t tiles : {1U, 5U})
      for (const std::uint32_t together : {1U, 4U, 8U, 1U << 22U}) {
        std::vector<std::pair<int, int>> expected;
        for (std::uint32_t first = 0; first < heads; first += together)
          for (std::uint32_t tile = 0; tile < tiles; ++tile)
            for (std::uint32_t h = first; h < std::min(heads, first + together); ++h)
              expected.emplace_back(tile, h);
        std::vector<std::pair<int, int>> blocks;
        for (std::uint32_t index = 0; index < heads * tiles; ++index) {
          const TileOfHead at = tile_of_block(index, heads, tiles, together);
          blocks.emplace_back(at.tile, at.head);
        }
        EXPECT_EQ(blocks, expected) << heads << ' ' << tiles << ' ' << together;
      }
  constexpr std::uint32_t most = 0x7fffffffU / 7;
  const TileOfHead last = tile_of_block(most * 7 - 1, most, 7, 3);
  EXPECT_EQ(last.tile, 6) << "of the largest grid";
  EXPECT_EQ(last.head, static_cast<int>(most) - 1);
}

TEST(AttentionShape, RowSumsHaveEightThreadsARow) {
  const LaunchShape shape = attention_row_sums_shape(1000);
  EXPECT_GE(shape.blocks_x * shape.threads_x, 8000);
  EXPECT_EQ(warp % row_sum_lanes, 0) << "a row's threads are of one warp";
  EXPECT_NO_THROW(check_shape(shape, 256));
}

}  // namespace
}  // namespace triax::cuda
