#pragma once
// What the backward pass of a token embedding takes from its scratch.
#include "kernels/base/device/arena.hpp"

namespace triax::cuda {

/// Rows of one token that are summed one after the other. What a token has beyond them is summed by
/// others, each as many, and their sums are then added in order: a token in every row of a batch
/// would else be one thread's for all of it.
inline constexpr std::int64_t segment_rows = 64;

/// The rows of a batch by target: those of a target lie together, in their order. For the k-th of
/// them: which row of the batch it is, how many of the same target come before it, and how many
/// from it on.
struct RowOrder {
  std::int32_t* row;
  std::int32_t* before;
  std::int32_t* left;
  /// (rows / segment_rows rounded up, columns). Of the segments of a target all but the first have
  /// a row here: that of the k-th row of the batch, where it begins, divided by segment_rows. Two
  /// of them begin at least segment_rows apart, so that no two have the same.
  float* sums;
  /// (rows) each, for the sort.
  std::int64_t* keys;
  std::int64_t* merged_keys;

  /// `rows` and `columns` of the batch.
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
