// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels without sums: each thread takes a few neighbouring elements.
#include "kernels/cuda/launch/launch.hpp"
#include "kernels/cuda/launch/views.hpp"

namespace triax::cuda {

/// Runs body.run<width>(i) for `width` elements at a time, and run<1>(i) for the rest.
template <int width, class Body>
struct Pointwise {
  static constexpr int max_threads = 256;
  std::int64_t n;
  Body body;

  TRIAX_DEVICE void operator()(const Block& block) const {
    std::int64_t i = (block.index_x() * block.threads_x() + block.thread_x()) * width;
    if (i + width <= n)
      body.template run<width>(i);
    else
      for (; i < n; ++i) body.template run<1>(i);
  }
};

/// allowed: everything the body touches may be accessed 16 bytes at a time (views.hpp).
template <int width, class Body>
void pointwise(const Stream& stream, std::int64_t n, bool allowed, const Body& body) {
  with_width<width>(allowed, [&]<int w>(Width<w>) {
    launch(stream, pointwise_shape(n, w), Pointwise<w, Body>{n, body});
  });
}

/// Runs body.run<width>(row, column) for `width` columns of a row at a time.
template <int width, class Body>
struct Tiles {
  static constexpr int max_threads = 256;
  std::int64_t rows;
  std::int64_t columns;
  Body body;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t row = block.index_x() * block.threads_y() + block.thread_y();
    const std::int64_t column = (block.index_y() * block.threads_x() + block.thread_x()) * width;
    if (row < rows && column < columns) body.template run<width>(row, column);
  }
};

/// allowed: as above. If `columns` is not a multiple of `width`, single columns are run.
template <int width, class Body>
void tiles(const Stream& stream, std::int64_t rows, std::int64_t columns, bool allowed,
           const Body& body) {
  with_width<width>(allowed && columns % width == 0, [&]<int w>(Width<w>) {
    launch(stream, tile_shape(rows, columns, w), Tiles<w, Body>{rows, columns, body});
  });
}

/// Calls each(value) for this thread's elements of x, where the threads of `blocks` CUDA blocks
/// take turns over pieces of x[0, n). The order does not depend on `allowed` (load_piece).
template <bool allowed, class T, class Each>
TRIAX_DEVICE inline void each_in_turn(const Block& block, std::int64_t blocks, const T* x,
                                      std::int64_t n, Each&& each) {
  constexpr int width = wide<T>;
  const std::int64_t step = blocks * block.threads_x() * width;
  for (std::int64_t i = (block.index_x() * block.threads_x() + block.thread_x()) * width; i < n;
       i += step) {
    float values[width];
    if (i + width <= n)
      load_piece<allowed>(values, x + i, width);
    else
      load_piece<false>(values, x + i, n - i);
    TRIAX_UNROLL
    for (int j = 0; j < width; ++j) each(values[j]);
  }
}

}  // namespace triax::cuda
