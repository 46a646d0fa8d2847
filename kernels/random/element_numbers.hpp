// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of the global tensor elements in a flat range of memory. Random numbers that depend on
// them are the same on every grid and layout.
#include <array>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"
#include "kernels/random/philox.hpp"

namespace triax {

/// Elements of a local matrix made of boxes of global tensors, numbered as in those tensors. The
/// random word of an element is the word with its number in the stream of its tensor's key
/// (kernels/random/random.hpp).
struct ElementNumbers {
  /// A box of the local matrix.
  struct Box {
    std::int64_t row = 0, rows = 0, column = 0, columns = 0;
    std::int64_t first = 0;  // number of the box's first element in the global tensor
    std::int64_t width = 0;  // elements per row of the global tensor
    std::uint64_t key = 0;   // of the global tensor
  };
  static constexpr int most_boxes = 4;

  std::array<Box, most_boxes> boxes;  // disjoint; elements outside all boxes have the word 0
  int count = 0;                      // of boxes
  std::int64_t columns = 1;           // of the local matrix
  std::int64_t offset = 0;            // of the range's first element in the matrix

  /// to[j] = the word of element begin + j of the range, for begin + j < end. `to` is host memory.
  void words(std::uint32_t* to, std::int64_t begin, std::int64_t end) const;

  /// words() for `n` elements from `begin` on, in the calling thread only.
  template <int n>
  TRIAX_HOST_DEVICE void few_words(std::uint32_t* to, std::int64_t begin) const {
    std::int64_t row = (offset + begin) / columns;
    std::int64_t column = (offset + begin) % columns;
    std::uint64_t key = 0, block = ~std::uint64_t{0};  // of the words in `made`
    PhiloxBlock made{};
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) {
      to[j] = 0;
      TRIAX_UNROLL
      for (int b = 0; b < most_boxes; ++b) {
        const Box& box = boxes[static_cast<std::size_t>(b)];
        const std::int64_t r = row - box.row, c = column - box.column;
        if (b >= count || r < 0 || r >= box.rows || c < 0 || c >= box.columns) continue;
        const auto number = static_cast<std::uint64_t>(box.first + r * box.width + c);
        if (number / 4 != block || box.key != key) {
          block = number / 4;
          key = box.key;
          made = philox_block(key, block);
        }
        const auto lane = static_cast<int>(number % 4);
        to[j] = lane < 2 ? (lane == 0 ? made.w0 : made.w1) : (lane == 2 ? made.w2 : made.w3);
      }
      if (++column == columns) {
        column = 0;
        ++row;
      }
    }
  }
};

}  // namespace triax
