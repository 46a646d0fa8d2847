#pragma once
// Sums over the threads of a row, in an order that the launch shape alone decides.
#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

/// Every lane of a warp gets the values of all combined; combine(a, b) is symmetric.
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

/// The number of the thread's warp in its row, and of warps in a row.
TRIAX_DEVICE inline int warp_of_row(const Block& block) {
  return block.thread_x() / warp;
}
TRIAX_DEVICE inline int warps_of_row(const Block& block) {
  return block.threads_x() / warp;
}

/// Each of values[0, count) summed over the threads_x threads with the same thread_y; all of them
/// get the sums. `slots`: count x (warps of the block) elements of shared memory. All threads of
/// the block call.
template <int count, class T>
TRIAX_DEVICE inline void row_sums(const Block& block, T* slots, T* values) {
  TRIAX_UNROLL
  for (int i = 0; i < count; ++i) values[i] = over_warp(block, values[i], Plus{});
  const int warps = warps_of_row(block);
  if (warps == 1) return;
  T* of_row = slots + block.thread_y() * warps * count;
  block.sync();  // nobody reads the slots any more
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
