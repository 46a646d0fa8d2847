// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scratch memory of the backward pass of a token embedding.
#include "kernels/base/device/arena.hpp"

namespace triax::cuda {

/// Rows of one token that one thread sums in order. Further rows of the token are summed in
/// segments of this length by other threads, and the segment sums are added in order. Without
/// segments, a token that fills the batch would be the work of one thread.
inline constexpr std::int64_t segment_rows = 64;

/// Rows of the batch sorted by target, those of one target in batch order. For the k-th row in this
/// order: its number in the batch, how many rows of the same target come before it, and how many
/// follow from it on (itself included).
struct RowOrder {
  std::int32_t* row;
  std::int32_t* before;
  std::int32_t* left;
  /// (rows / segment_rows rounded up, columns). Sums of all segments but the first of each target.
  /// The segment that begins with the k-th row in order has row k / segment_rows; two such segments
  /// begin at least segment_rows apart, so no two share a row.
  float* sums;
  /// Keys of the sort, (rows) each.
  std::int64_t* keys;
  std::int64_t* merged_keys;

  /// rows, columns: size of dy.
  RowOrder(Arena& scratch, std::int64_t rows, std::int64_t columns) {
    const auto take = [&] {
      return scratch.take("row order", DType::i32, {rows}).as<std::int32_t>();
    };
    row = take();
    before = take();
    left = take();
    const auto take_keys = [&] {
      return scratch.take("row keys", DType::i64, {rows}).as<std::int64_t>();
    };
    keys = take_keys();
    merged_keys = take_keys();
    sums = scratch.take("sums of segments", DType::f32, {segments(rows), columns}).as<float>();
  }
  static constexpr std::int64_t segments(std::int64_t rows) {
    return (rows + segment_rows - 1) / segment_rows;
  }
};

}  // namespace triax::cuda
