// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/launch/launch_shape.hpp"

#include <gtest/gtest.h>

#include <bit>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/base/check.hpp"
#include "kernels/base/float16.hpp"
#include "kernels/norm/column_sum.hpp"

namespace triax::cuda {
namespace {

constexpr std::int64_t hidden_sizes[] = {1, 33, 64, 768, 1000, 1600, 4096, 8192};

TEST(LaunchShape, PointwiseCoversAllOnce) {
  for (const int width : {1, 4, 8})
    for (const std::int64_t n : {1L, 255L, 256L, 257L, 124'000'000L, 9'000'000'000L}) {
      const LaunchShape shape = pointwise_shape(n, width);
      const std::int64_t block = std::int64_t{shape.threads_x} * width;
      EXPECT_GE(shape.blocks_x * block, n);
      EXPECT_LT((shape.blocks_x - 1) * block, n);
      EXPECT_NO_THROW(check_shape(shape, 256));
    }
  EXPECT_EQ(pointwise_shape(0, 8).blocks_x, 0);
}

TEST(LaunchShape, TilesCoverRowsAndColumnsOnce) {
  for (const int width : {1, 4, 8})
    for (const std::int64_t rows : {1L, 7L, 8192L, 1'000'000L})
      for (const std::int64_t columns : {8L, 33L, 768L, 1600L, 4096L, 28672L, 151936L}) {
        const LaunchShape shape = tile_shape(rows, columns, width);
        const std::int64_t tile = std::int64_t{shape.threads_x} * width;
        EXPECT_GE(shape.blocks_x * shape.threads_y, rows);
        EXPECT_LT((shape.blocks_x - 1) * shape.threads_y, rows);
        EXPECT_GE(shape.blocks_y * tile, columns);
        EXPECT_LT((shape.blocks_y - 1) * tile, columns);
        EXPECT_GE(shape.threads_x * shape.threads_y, 128) << "few threads hide little latency";
        EXPECT_NO_THROW(check_shape(shape, 256));
      }
  EXPECT_EQ(tile_shape(0, 8, 1).blocks_x, 0);
  EXPECT_EQ(tile_shape(8, 0, 1).blocks_x, 0);
}

TEST(LaunchShape, TilesOfCommonWidthsWasteNoThread) {
  EXPECT_EQ(tile_shape(8192, 768, 8).threads_x, 96);
  EXPECT_EQ(tile_shape(8192, 4096, 8).threads_x, 256);
  EXPECT_EQ(tile_shape(8192, 4096, 8).blocks_y, 2);
}

TEST(LaunchShape, HeldRowsFitTheirThreads) {
  for (const std::int64_t part : {row_part<float>, row_part<Bf16>})
    for (const std::int64_t columns : hidden_sizes) {
      const LaunchShape shape = row_shape(1000, columns, static_cast<int>(part));
      EXPECT_GE(shape.threads_x * part, columns);
      EXPECT_GE(shape.blocks_x * shape.threads_y, 1000);
      const int warps = shape.threads_x / warp * shape.threads_y;
      EXPECT_LE(2 * warps * sizeof(float), shape.shared_bytes) << "slots for two sums a warp";
      EXPECT_NO_THROW(check_shape(shape, 512));
    }
  EXPECT_EQ(row_shape(8, 768, row_part<Bf16>).threads_x, 32) << "a row of GPT-2 is one warp's";
  EXPECT_EQ(row_shape(8, 16384, row_part<Bf16>).threads_x, 512);
}

TEST(LaunchShape, HeadsShareWarpsAndCoverTheirColumns) {
  EXPECT_EQ(threads_of_head(64, 8), 8);
  EXPECT_EQ(threads_of_head(96, 8), 16);
  EXPECT_EQ(threads_of_head(8192, 8), warp);
  for (const int width : {4, 8})
    for (const std::int64_t columns : {32L, 33L, 80L, 128L, 256L, 8192L})
      for (const std::int64_t heads : {1L, 31L, 4096L, 262'144L, 2'147'483'647L}) {
        const int threads = threads_of_head(columns, width);
        const LaunchShape sums = head_sum_shape(heads, columns, width);
        EXPECT_GE(sums.blocks_x * (sums.threads_x / threads), heads);
        EXPECT_NO_THROW(check_shape(sums, head_block_threads));
        const LaunchShape gradient = head_gradient_shape(heads, columns, width);
        EXPECT_GE(gradient.blocks_x * head_gradient_rows(heads), heads);
        EXPECT_GE(gradient.blocks_y * threads * width, columns);
        EXPECT_LE(threads * width, gradient.threads_x) << "one thread adds up each column";
        EXPECT_LE(gradient.blocks_x, std::min<std::int64_t>(1024, gradient_blocks(heads)));
        EXPECT_NO_THROW(check_shape(gradient, head_block_threads));
      }
  EXPECT_EQ(head_sum_shape(0, 64, 8).blocks_x, 0);
  EXPECT_EQ(head_gradient_shape(0, 64, 8).blocks_x, 0);
}

TEST(LaunchShape, RowsTooLongToHoldAreRefused) {
  EXPECT_NO_THROW(row_shape(1, 8192, row_part<float>));
  EXPECT_THROW(row_shape(1, 8193, row_part<float>), Error);
  EXPECT_THROW(row_shape(1, 16385, row_part<F16>), Error);
}

TEST(LaunchShape, GradientsHaveABlockForEachPartialRow) {
  for (const int part : {row_part<float>, row_part<Bf16>})
    for (const std::int64_t columns : hidden_sizes)
      for (const int sums : {1, 2}) {
        const LaunchShape shape = gradient_shape(1000, columns, part, sums);
        EXPECT_EQ(shape.blocks_x, gradient_blocks(1000));
        EXPECT_LE(shape.threads_y, gradient_rows(1000)) << "else threads have no row";
        EXPECT_GE(shape.shared_bytes,
                  (row_sum_slots + static_cast<std::size_t>(sums * shape.threads_y * columns)) *
                      sizeof(float));
        EXPECT_NO_THROW(check_shape(shape, 512));
      }
}

// Micro-batches of GPT-2 have 8192 rows or fewer. No data-centre GPU has more than 160
// multiprocessors, each of which runs two of these CUDA blocks.
TEST(LaunchShape, GradientsHaveBlocksForTheMultiprocessorsOfAGpu) {
  EXPECT_EQ(gradient_blocks(0), 0);
  for (const std::int64_t rows :
       {1L, 63L, 1024L, 4095L, 4096L, 8192L, 20000L, 32768L, 1'000'000L}) {
    const std::int64_t of_block = gradient_rows(rows);
    EXPECT_GE(gradient_blocks(rows) * of_block, rows);
    EXPECT_LT((gradient_blocks(rows) - 1) * of_block, rows);
    EXPECT_LE(of_block, rows_per_block);
    EXPECT_LE(gradient_blocks(rows), std::max<std::int64_t>(1024, row_blocks(rows)))
        << "partial rows are memory, and added up in the end";
    EXPECT_GE(gradient_blocks(rows), std::min<std::int64_t>(512, (rows + 7) / 8));
  }
  EXPECT_EQ(gradient_blocks(1024), 128) << "16 with blocks of 64";
  EXPECT_EQ(gradient_rows(8192), 16);
  EXPECT_EQ(gradient_rows(1'000'000), rows_per_block);
}

TEST(LaunchShape, SharedMemoryOfTheLongestRowFitsEveryArchitecture) {
  constexpr std::size_t of_sm_80 = 163 * 1024;
  EXPECT_LE(gradient_shape(64, 16384, row_part<Bf16>, 2).shared_bytes, of_sm_80);
}

TEST(LaunchShape, ABlockWithMoreSharedMemoryThanTheGpuHasIsRefused) {
  constexpr std::size_t of_sm_86 = 99 * 1024;
  const LaunchShape longest = gradient_shape(64, 16384, row_part<Bf16>, 2);
  EXPECT_THROW(check_shared(longest, of_sm_86), Error);
  EXPECT_NO_THROW(check_shared(longest, shared_limit));
  EXPECT_NO_THROW(check_shared(gradient_shape(64, 8192, row_part<Bf16>, 2), of_sm_86));
}

TEST(LaunchShape, LongRowsHaveABlockEach) {
  constexpr std::int64_t of_gpt2 = 50272 * 2;
  EXPECT_EQ(long_row_shape(1000, of_gpt2).blocks_x, 1000);
  EXPECT_EQ(long_row_shape(1000, of_gpt2).threads_x, 512);
  EXPECT_EQ(long_row_shape(1000, 2 * of_gpt2).threads_x, 1024);
  for (const std::int64_t bytes : {2L, of_gpt2, 2 * of_gpt2, 151936L * 4}) {
    const LaunchShape shape = long_row_shape(8, bytes);
    EXPECT_NO_THROW(check_shape(shape, long_row_threads));
    EXPECT_LE(2 * static_cast<std::size_t>(shape.threads_x) / warp * sizeof(float),
              shape.shared_bytes)
        << "slots for two numbers a warp";
  }
}

// Limits by architecture from the CUDA C++ Programming Guide, table of compute capabilities.
TEST(LaunchShape, RowsAreHeldAsFarAsSharedMemoryGoes) {
  for (const std::size_t kib : {99U, 163U, 227U})
    for (const std::int64_t bytes : {0L, 16L, 50256L * 2, 50256L * 4, 151936L * 4}) {
      const std::size_t held = held_bytes(bytes, kib * 1024);
      LaunchShape shape = long_row_shape(8, bytes);
      shape.shared_bytes += held;
      EXPECT_NO_THROW(check_shared(shape, kib * 1024));
      EXPECT_NO_THROW(check_shape(shape, long_row_threads));
      EXPECT_EQ(held % 16, 0U);
      EXPECT_LE(held, static_cast<std::size_t>(bytes));
    }
  EXPECT_EQ(held_bytes(50256 * 2, 99 * 1024), 50256U * 2) << "GPT-2's rows lie in that of sm_86";
  // Two CUDA blocks per multiprocessor of sm_90, each with 1 KiB for the system.
  constexpr std::size_t of_sm_90 = 228 * 1024;
  EXPECT_LE(2 * (long_row_shape(8, 50256 * 2).shared_bytes + 50256 * 2 + 1024), of_sm_90);
}

TEST(LaunchShape, ColumnSumsHaveABlockForEachPartialRow) {
  for (const int width : {1, 4, 8}) {
    const LaunchShape shape = column_sum_shape(1000, 770, width);
    const std::int64_t across = column_blocks(770, width);
    EXPECT_EQ(shape.blocks_x, across * row_blocks(1000));
    EXPECT_GE(across * shape.threads_x * width, 770);
    EXPECT_EQ(shape.shared_bytes,
              static_cast<std::size_t>(shape.threads_x * shape.threads_y * width) * sizeof(float));
    EXPECT_NO_THROW(check_shape(shape, 256));
  }
  EXPECT_EQ(column_sum_shape(0, 8, 1).blocks_x, 0);
  // More groups of rows than a grid may have blocks along y.
  EXPECT_NO_THROW(check_shape(column_sum_shape(100'000'000, 16384, 8), 256));
}

TEST(LaunchShape, PartialRowsHaveAThreadForEachColumn) {
  for (const std::int64_t columns : hidden_sizes) {
    const LaunchShape shape = partial_rows_shape(columns, 2);
    EXPECT_EQ(shape.blocks_y, 2) << "for two sums";
    EXPECT_GE(shape.blocks_x * warp, columns);
    EXPECT_LT((shape.blocks_x - 1) * warp, columns);
    EXPECT_EQ(shape.threads_x, warp);
    EXPECT_EQ(shape.shared_bytes,
              static_cast<std::size_t>(shape.threads_x * shape.threads_y) * sizeof(double));
    EXPECT_NO_THROW(check_shape(shape, partial_rows_threads));
  }
}

TEST(LaunchShape, RowsInOrderPassThoseOfTheirBlockInSharedMemory) {
  const LaunchShape shape = order_shape(32768);
  EXPECT_EQ(shape.blocks_x * shape.threads_x, 32768);
  EXPECT_EQ(shape.shared_bytes, static_cast<std::size_t>(shape.threads_x) * sizeof(std::int64_t));
  EXPECT_EQ(std::popcount(static_cast<unsigned>(shape.threads_x)), 1) << "of searches by halves";
  EXPECT_NO_THROW(check_shape(shape, 256));
  EXPECT_EQ(order_shape(0).blocks_x, 0);
}

TEST(LaunchShape, TransposedTilesCoverTheMatrixOnce) {
  for (const std::int64_t rows : {1L, 64L, 65L, 50272L})
    for (const std::int64_t columns : {16L, 768L, 770L, 151936L}) {
      const LaunchShape shape = transposed_shape(rows, columns);
      EXPECT_GE(shape.blocks_x * transposed_side, rows);
      EXPECT_LT((shape.blocks_x - 1) * transposed_side, rows);
      EXPECT_GE(shape.blocks_y * transposed_side, columns);
      EXPECT_LT((shape.blocks_y - 1) * transposed_side, columns);
      EXPECT_GE(shape.shared_bytes,
                static_cast<std::size_t>(transposed_place(transposed_side - 1) + transposed_side));
      EXPECT_NO_THROW(check_shape(shape, 256));
    }
}

// Most different words that any bank serves for accesses made together: `bytes` per lane at these
// offsets.
int turns_of_banks(const std::vector<int>& places, int bytes) {
  std::map<int, std::set<int>> words;  // by bank
  for (const int place : places)
    for (int word = place / 4; word <= (place + bytes - 1) / 4; ++word)
      words[word % warp].insert(word);
  std::size_t most = 0;
  for (const auto& [bank, wanted] : words) most = std::max(most, wanted.size());
  return static_cast<int>(most);
}

// wide: elements of a row that a lane reads, and whose codes it writes one after another.
int turns_of_writing(int wide) {
  const int pieces = transposed_side / wide;
  std::vector<int> places;
  for (int lane = 0; lane < warp; ++lane)
    places.push_back(transposed_place(lane % pieces * wide) + lane / pieces);
  return turns_of_banks(places, 1);
}

TEST(LaunchShape, TransposedTilesAreWrittenAndReadWithoutConflict) {
  EXPECT_EQ(turns_of_writing(8), 1) << "16 bits";
  EXPECT_EQ(turns_of_writing(4), 2) << "32 bits: sixteen columns, in pieces of four banks";
  for (int column = 0; column < transposed_side; column += 2) {
    EXPECT_EQ(transposed_place(column) % 16, 0) << "they are read in pieces";
    std::vector<int> places;  // of eight lanes, whose pieces are read in one access
    for (int lane = 0; lane < 8; ++lane)
      places.push_back(transposed_place(column + lane / 4) + lane % 4 * 16);
    EXPECT_EQ(turns_of_banks(places, 16), 1);
  }
}

TEST(LaunchShape, AllButTheLongestRowsOfNormsFitTheSmallestSharedMemory) {
  constexpr std::size_t of_sm_86 = 99 * 1024;
  for (const LaunchShape& shape :
       {row_shape(8, 16384, row_part<Bf16>), row_shape(8, 8192, row_part<float>),
        gradient_shape(64, 8192, row_part<float>, 2), column_sum_shape(64, 16384, 8),
        partial_rows_shape(16384, 2), order_shape(1 << 20), sum_shape(1 << 30, 8), parts_shape(),
        transposed_shape(8192, 8192), long_row_shape(8, 1 << 20)})
    EXPECT_NO_THROW(check_shared(shape, of_sm_86));
}

TEST(LaunchShape, SumsHaveAsManyPartsAsOneBlockAddsUp) {
  EXPECT_EQ(sum_shape(1, 8).blocks_x, 1);
  EXPECT_EQ(sum_shape(1'000'000'000, 8).blocks_x, max_sum_parts);
  EXPECT_EQ(parts_shape().threads_x, max_sum_parts);
  EXPECT_LE(max_sum_parts / warp * sizeof(double), parts_shape().shared_bytes);
  EXPECT_NO_THROW(check_shape(parts_shape(), 1024));
}

}  // namespace
}  // namespace triax::cuda
