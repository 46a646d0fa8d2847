// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over the threads of a row, in an order that depends on the launch shape alone.
#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

/// Combines the values of all lanes of a warp; every lane gets the result. combine(a, b) must be
/// symmetric.
template <class T, class Combine>
TRIAX_DEVICE inline T over_warp(const Block& block, T value, const Combine& combine) {
  TRIAX_UNROLL
  for (int mask = warp / 2; mask > 0; mask /= 2)
    value = combine(value, block.shuffle_xor(value, mask));
  return value;
}

struct Plus {
  template <class T>
  TRIAX_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

/// Number of the thread's warp in its row, and number of warps per row.
TRIAX_DEVICE inline int warp_of_row(const Block& block) {
  return block.thread_x() / warp;
}
TRIAX_DEVICE inline int warps_of_row(const Block& block) {
  return block.threads_x() / warp;
}

/// Sums each of values[0, count) over the threads_x threads with the same thread_y; all of them get
/// the result. slots: count x (warps of the CUDA block) elements of shared memory. All threads of
/// the block must call it.
template <int count, class T>
TRIAX_DEVICE inline void row_sums(const Block& block, T* slots, T* values) {
  TRIAX_UNROLL
  for (int i = 0; i < count; ++i) values[i] = over_warp(block, values[i], Plus{});
  const int warps = warps_of_row(block);
  if (warps == 1) return;
  T* of_row = slots + block.thread_y() * warps * count;
  block.sync();  // no thread reads the slots any more
  if (block.thread_x() % warp == 0) {
    TRIAX_UNROLL
    for (int i = 0; i < count; ++i) of_row[warp_of_row(block) * count + i] = values[i];
  }
  block.sync();
  TRIAX_UNROLL
  for (int i = 0; i < count; ++i) {
    T total = of_row[i];
    for (int w = 1; w < warps; ++w) total += of_row[w * count + i];
    values[i] = total;
  }
}

}  // namespace triax::cuda
