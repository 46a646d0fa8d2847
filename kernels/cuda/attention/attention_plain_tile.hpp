// SPDX-License-Identifier: Apache-2.0
#pragma once
// Square float32 tiles in shared memory, for any head size. Thread x owns column x of the scores
// and columns x, x + 32, ... of a head; warp y owns rows y, y + plain_warps, ..., which no other
// warp touches.
#include "kernels/cuda/attention/attention.hpp"
#include "kernels/cuda/attention/attention_shape.hpp"
#include "kernels/cuda/launch/pack.hpp"

namespace triax::cuda {

inline constexpr int own_rows = plain_rows / plain_warps;  // rows of one warp

/// Operations on tiles. `rows` of a tile are used, at most plain_rows.
struct PlainTiles {
  const Block& block;
  int head_size;
  int rows;

  TRIAX_DEVICE int pitch() const { return plain_row_pitch(head_size); }
  TRIAX_DEVICE float* tile(int number) const {
    return block.shared<float>() + number * rows * pitch();
  }
  TRIAX_DEVICE float* scores(int row_tiles, int number) const {
    return tile(row_tiles) + number * rows * plain_pitch;
  }
  /// Number of this warp's m-th row; rows or more if the warp has no such row.
  TRIAX_DEVICE int row(int m) const { return block.thread_y() + m * plain_warps; }

  /// Loads rows of a head from `first` on; rows from `length` on become zero.
  template <class T>
  TRIAX_DEVICE void load(float* to, const T* head, std::int64_t stride, int first,
                         int length) const {
    for (int r = block.thread_y(); r < rows; r += plain_warps)
      for (int d = block.thread_x(); d < head_size; d += warp)
        to[r * pitch() + d] = first + r < length ? widen(head[(first + r) * stride + d]) : 0.0F;
  }

  template <class T>
  TRIAX_DEVICE void store(T* head, std::int64_t stride, int first, int length, const float* from,
                          float factor) const {
    for (int r = block.thread_y(); r < rows && first + r < length; r += plain_warps)
      for (int d = block.thread_x(); d < head_size; d += warp)
        narrow(head[(first + r) * stride + d], from[r * pitch() + d] * factor);
  }

  TRIAX_DEVICE void clear(float* tile) const {
    for (int r = block.thread_y(); r < rows; r += plain_warps)
      for (int d = block.thread_x(); d < head_size; d += warp) tile[r * pitch() + d] = 0.0F;
  }

  /// products[m] = row(m) of a by row thread_x of b.
  TRIAX_DEVICE void row_products(float (&products)[own_rows], const float* a,
                                 const float* b) const {
    const float* left[own_rows];
    TRIAX_UNROLL
    for (int m = 0; m < own_rows; ++m) {
      products[m] = 0.0F;
      left[m] = a + (row(m) < rows ? row(m) : 0) * pitch();
    }
    const float* right = b + (block.thread_x() < rows ? block.thread_x() : 0) * pitch();
    for (int d = 0; d < head_size; ++d) {
      TRIAX_UNROLL
      for (int m = 0; m < own_rows; ++m) products[m] += left[m][d] * right[d];
    }
  }

  /// sums = factor[row] sums + p b for this warp's rows. factor: null for 1.
  TRIAX_DEVICE void add_products(float* sums, const float* factor, const float* p,
                                 const float* b) const {
    for (int d = block.thread_x(); d < head_size; d += warp) {
      float total[own_rows] = {};
      for (int j = 0; j < rows; ++j) {
        const float value = b[j * pitch() + d];
        TRIAX_UNROLL
        for (int m = 0; m < own_rows; ++m)
          if (row(m) < rows) total[m] += p[row(m) * plain_pitch + j] * value;
      }
      TRIAX_UNROLL
      for (int m = 0; m < own_rows; ++m)
        if (row(m) < rows) {
          float& sum = sums[row(m) * pitch() + d];
          sum = (factor != nullptr ? factor[row(m)] * sum : sum) + total[m];
        }
    }
  }
};

}  // namespace triax::cuda
