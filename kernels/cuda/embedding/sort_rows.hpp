// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sorts the rows of a batch by token (row_order.hpp): a merge sort of CUDA blocks of 256 rows,
// eight sorted lists at a time. The keys differ from each other, so the order is unique.
#include <cstdint>
#include <utility>

#include "kernels/cuda/embedding/row_order.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {

inline constexpr std::int64_t none = -1;  // no row

/// Maps rows of the batch to rows of a vocabulary shard.
struct Targets {
  const std::int32_t* tokens;
  std::int64_t first_token;
  std::int64_t vocabulary;

  /// The row of the shard for row r of the batch, or `none`.
  TRIAX_DEVICE std::int64_t operator()(std::int64_t r) const {
    const std::int64_t row = tokens[r] - first_token;
    return tokens[r] >= 0 && row >= 0 && row < vocabulary ? row : none;
  }
};

/// Sort key: the target in the upper bits, the row in the lower row_bits.
inline constexpr int row_bits = 30;
TRIAX_DEVICE inline std::int64_t key_of(std::int64_t target, std::int64_t row) {
  return ((target - none) << row_bits) + row;
}

/// below[i] = number of keys smaller than key[i] among the length[i] sorted keys at list[i]. most:
/// a power of two, not less than any length. The binary searches advance together, so that each
/// step waits for memory once.
template <int lists>
TRIAX_DEVICE inline void count_smaller(int (&below)[lists],
                                       const std::int64_t* const (&list)[lists],
                                       const int (&length)[lists], const std::int64_t (&key)[lists],
                                       int most) {
  TRIAX_UNROLL
  for (int i = 0; i < lists; ++i) below[i] = 0;
  for (int step = most; step > 0; step /= 2) {
    TRIAX_UNROLL
    for (int i = 0; i < lists; ++i) {
      const int end = below[i] + step;
      if (end <= length[i] && list[i][end - 1] < key[i]) below[i] = end;
    }
  }
}

/// Sorts the rows of one CUDA block: the position of a key is the number of smaller keys.
struct SortBlocks {
  static constexpr int max_threads = 256;
  std::int64_t* to;
  Targets target;
  std::int64_t rows;

  TRIAX_DEVICE void operator()(const Block& block) const {
    auto* keys = block.shared<std::int64_t>();
    const std::int64_t begin = block.index_x() * block.threads_x();
    const std::int64_t r = begin + block.thread_x();
    const auto count =
        static_cast<int>(rows - begin < block.threads_x() ? rows - begin : block.threads_x());
    const std::int64_t own = r < rows ? key_of(target(r), r) : 0;
    keys[block.thread_x()] = own;
    block.sync();
    int place = 0;
    for (int i = 0; i < count; ++i) place += keys[i] < own ? 1 : 0;
    if (r < rows) to[begin + place] = own;
  }
};

/// Merges sorted lists of `length` keys (the last may be shorter), `merged` at a time.
struct MergeRuns {
  static constexpr int merged = 8;
  std::int64_t* to;
  const std::int64_t* from;
  std::int64_t rows;
  std::int64_t length;  // a power of two

  template <int>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const std::int64_t first = i / (length * merged) * (length * merged);
    const std::int64_t* list[merged];
    int lengths[merged], below[merged];
    std::int64_t key[merged];
    TRIAX_UNROLL
    for (int k = 0; k < merged; ++k) {
      const std::int64_t begin = first + k * length < rows ? first + k * length : rows;
      const std::int64_t left = rows - begin;
      list[k] = from + begin;
      lengths[k] = static_cast<int>(left < length ? left : length);
      key[k] = from[i];
    }
    count_smaller(below, list, lengths, key, static_cast<int>(length));
    std::int64_t place = first;
    TRIAX_UNROLL
    for (int k = 0; k < merged; ++k) place += below[k];
    to[place] = from[i];
  }
};

/// Fills RowOrder from the sorted keys: row numbers, and the distance to the begin and the end of
/// their target.
struct NameRows {
  RowOrder order;
  const std::int64_t* keys;
  int rows;
  int most;  // a power of two, at least `rows`

  template <int>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const std::int64_t target = (keys[i] >> row_bits) + none;
    const std::int64_t key[] = {key_of(target, 0), key_of(target + 1, 0)};
    const std::int64_t* const list[] = {keys, keys};
    const int length[] = {rows, rows};
    int below[2];
    count_smaller(below, list, length, key, most);
    order.row[i] = static_cast<std::int32_t>(keys[i] - key[0]);
    order.before[i] = static_cast<std::int32_t>(i) - below[0];
    order.left[i] = below[1] - static_cast<std::int32_t>(i);
  }
};

inline void put_in_order(const Stream& stream, const RowOrder& order, const Targets& target,
                         std::int64_t rows) {
  check(rows < 1 << (row_bits - 1), "an embedding of {} rows", rows);
  std::int64_t* from = order.keys;
  std::int64_t* to = order.merged_keys;
  const LaunchShape shape = order_shape(rows);
  launch(stream, shape, SortBlocks{from, target, rows});
  std::int64_t length = shape.threads_x;
  for (; length < rows; length *= MergeRuns::merged) {
    pointwise<1>(stream, rows, false, MergeRuns{to, from, rows, length});
    std::swap(from, to);
  }
  pointwise<1>(stream, rows, false,
               NameRows{order, from, static_cast<int>(rows), static_cast<int>(length)});
}

}  // namespace triax::cuda
