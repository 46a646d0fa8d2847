// Tiles of attention on tensor cores: where their elements lie, and which calls get there.
#include "kernels/cuda/attention_tile.hpp"

#include <gtest/gtest.h>

#include <set>

namespace triax::cuda {
namespace {

// Of an offset in elements of 16 bits: which of the eight 16-byte columns of the 32 banks.
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
        // Lane 8 m + i names row i of matrix m: below each other first, or side by side first.
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

// The width of the kernel that a call gets; 0 for the plain one. `offset`: of q, in elements.
int width_for(DType type, std::int64_t head_size, float scale = 0.5F, std::int64_t offset = 0) {
  const Shape shape = {1, 10, 2, head_size};
  const Buffer memory(static_cast<std::size_t>(shape.elements() + offset) * size_of(type));
  const Tensor whole = memory.tensor(type, {shape.elements() + offset});
  const Tensor q = whole.slice(0, offset, shape.elements()).reshape(shape);
  AttentionOptions options;
  options.scale = scale;
  const AttentionTask task(triax::attention::sizes_of(q, q, q, options), options);
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
