// SPDX-License-Identifier: Apache-2.0
// Sums over rows: of partial rows (column_sum.hpp), and the gradient of a bias.
#include "kernels/norm/column_sum.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/norm/held_row.hpp"

namespace triax::cuda {
namespace {

// One column per thread of a warp; the warps of a CUDA block share the partial rows. The second row
// of blocks computes the second sum.
template <class G>
struct AddPartialRows {
  static constexpr int max_threads = partial_rows_threads;
  G* outs[2];
  const float* all_partials[2];
  std::int64_t blocks;
  std::int64_t columns;
  bool accumulate;

  TRIAX_DEVICE void operator()(const Block& block) const {
    G* const out = block.index_y() == 0 ? outs[0] : outs[1];
    const float* const partials = block.index_y() == 0 ? all_partials[0] : all_partials[1];
    const std::int64_t column = block.index_x() * warp + block.thread_x();
    const std::int64_t share = (blocks + block.threads_y() - 1) / block.threads_y();
    const std::int64_t begin = block.thread_y() * share;
    const std::int64_t end = begin + share < blocks ? begin + share : blocks;
    double sum = 0.0;
    if (column < columns)
      for (std::int64_t b = begin; b < end; ++b)
        sum += static_cast<double>(partials[b * columns + column]);
    auto* sums = block.shared<double>();
    sums[block.thread_y() * warp + block.thread_x()] = sum;
    block.sync();
    if (block.thread_y() != 0 || column >= columns) return;
    double total = accumulate ? static_cast<double>(widen(out[column])) : 0.0;
    for (int y = 0; y < block.threads_y(); ++y) total += sums[y * warp + block.thread_x()];
    narrow(out[column], static_cast<float>(total));
  }
};

// Adds `count` pieces of a column, `stride` elements apart, in their order. Loads several before it
// adds: one load in flight per thread does not fill the memory's queue.
template <int width, class T>
TRIAX_DEVICE inline void sum_rows(float (&sums)[width], const T* from, std::int64_t stride,
                                  std::int64_t count) {
  constexpr int together = 4;
  float values[together][width];
  for (; count >= together; count -= together, from += together * stride) {
    TRIAX_UNROLL
    for (int k = 0; k < together; ++k) load<width>(values[k], from + k * stride);
    TRIAX_UNROLL
    for (int k = 0; k < together; ++k) {
      TRIAX_UNROLL
      for (int i = 0; i < width; ++i) sums[i] += values[k][i];
    }
  }
  for (; count > 0; --count, from += stride) {
    load<width>(values[0], from);
    TRIAX_UNROLL
    for (int i = 0; i < width; ++i) sums[i] += values[0][i];
  }
}

// partials[p] = the sum of the p-th group of rows_per_block rows. The warps of a CUDA block share
// its rows.
template <class T, int width>
struct SumRows {
  static constexpr int max_threads = 256;
  float* partials;
  Rows<T> dy;
  std::int64_t across;  // CUDA blocks per group of rows

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t part = block.index_x() / across;
    const std::int64_t column =
        ((block.index_x() - part * across) * warp + block.thread_x()) * width;
    const std::int64_t begin = part * rows_per_block;
    const std::int64_t end = begin + rows_per_block < dy.rows ? begin + rows_per_block : dy.rows;
    float sums[width] = {};
    if (column < dy.columns)
      sum_rows(sums, dy[begin + block.thread_y()] + column, dy.stride * block.threads_y(),
               (end - begin - block.thread_y() + block.threads_y() - 1) / block.threads_y());
    auto* shared = block.shared<float>();
    TRIAX_UNROLL
    for (int i = 0; i < width; ++i)
      shared[(block.thread_y() * width + i) * warp + block.thread_x()] = sums[i];
    block.sync();
    if (block.thread_y() != 0 || column >= dy.columns) return;
    TRIAX_UNROLL
    for (int i = 0; i < width; ++i) {
      float total = 0.0F;
      for (int y = 0; y < block.threads_y(); ++y)
        total += shared[(y * width + i) * warp + block.thread_x()];
      partials[part * dy.columns + column + i] = total;
    }
  }
};

}  // namespace

void add_partial_rows(const Stream& stream, const PartialRows& rows, std::int64_t blocks,
                      bool accumulate) {
  if (rows.out.empty()) return;
  const std::int64_t columns = rows.out.elements();
  with_type(rows.out.dtype(), [&]<class G>(Type<G>) {
    G* to = device_elements<G>(rows.out, columns, "out");
    launch(
        stream, partial_rows_shape(columns, 1),
        AddPartialRows<G>{{to, to}, {rows.partials, rows.partials}, blocks, columns, accumulate});
  });
}

void add_partial_rows(const Stream& stream, const PartialRows& first, const PartialRows& second,
                      std::int64_t blocks, bool accumulate) {
  if (first.out.empty()) return add_partial_rows(stream, second, blocks, accumulate);
  if (second.out.empty()) return add_partial_rows(stream, first, blocks, accumulate);
  const std::int64_t columns = first.out.elements();
  with_type(first.out.dtype(), [&]<class G>(Type<G>) {
    G* to = device_elements<G>(first.out, columns, "the first sums");
    G* also_to = device_elements<G>(second.out, columns, "the second sums");
    launch(stream, partial_rows_shape(columns, 2),
           AddPartialRows<G>{
               {to, also_to}, {first.partials, second.partials}, blocks, columns, accumulate});
  });
}

void bias_backward(const Stream& stream, const Tensor& dbias, const Tensor& dy, bool accumulate,
                   Arena& scratch) {
  const std::int64_t columns = dbias.elements();
  const std::int64_t blocks = row_blocks(dy.size(0));
  const ArenaScope scope(scratch);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dy.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> in = device_rows<T>(dy, "dy");
    check(in.columns == columns, "dbias of shape {} for {} columns", dbias.shape(), in.columns);
    with_width<wide<T>>(aligned(in) && columns % wide<T> == 0, [&]<int width>(Width<width>) {
      launch(stream, column_sum_shape(in.rows, columns, width),
             SumRows<T, width>{partials, in, column_blocks(columns, width)});
    });
  });
  add_partial_rows(stream, {dbias, partials}, blocks, accumulate);
}

}  // namespace triax::cuda
