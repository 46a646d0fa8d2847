// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/elementwise.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/norm/column_sum.hpp"
#include "kernels/norm/residual_row.hpp"
#include "kernels/norm/row_sums.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 16384;  // elements per parallel task

// sums[c] = sum of rows [begin, end) of dy, in their order. Float32 rows are added one by one in
// memory order: the processor's own prefetching serves that best.
template <class T>
void sum_rows(float* sums, const Rows<T>& dy, std::int64_t begin, std::int64_t end) {
  std::fill_n(sums, dy.columns, 0.0F);
  if constexpr (std::is_same_v<T, float>) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* row = dy[r];
      for_vectors(0, dy.columns, [=](std::int64_t c, auto lanes) {
        lanes.store(sums + c, lanes.load(sums + c) + lanes.load(row + c));
      });
    }
  } else {
    const auto row_at = [=](std::int64_t r) -> const T* { return dy[std::min(r, dy.rows - 1)]; };
    for (std::int64_t r = begin; r < end; r += rows_at_once)
      add_rows(sums, sums, dy.columns, r, std::min(rows_at_once, end - r), row_at,
               [](std::int64_t) { return NoRow{}; });
  }
}

}  // namespace

void residual_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& a,
                      const Tensor& bias) {
  if (on_device(stream)) return cuda::residual_forward(stream, y, x, a, bias);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const ResidualRows<T> rows = residual_rows<T>(y, x, a, bias);
    const bool past = past_caches(y, {&x, &a});
    parallel_for(rows.sum.rows, [=](std::int64_t r) { add_residual(rows, r, past); });
  });
}

void add_bias(const Stream& stream, const Tensor& y, const Tensor& bias) {
  if (on_device(stream)) return cuda::add_bias(stream, y, bias);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const T* shift = elements_of<T>(bias, out.columns, "bias");
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      for_vectors(0, out.columns, [=](std::int64_t c, auto lanes) {
        lanes.store(to + c, lanes.load(to + c) + lanes.load(shift + c));
      });
    });
  });
}

void accumulate(const Stream& stream, const Tensor& dst, const Tensor& src) {
  if (on_device(stream)) return cuda::accumulate(stream, dst, src);
  with_types(src.dtype(), dst.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    G* to = elements_of<G>(dst, dst.elements(), "dst");
    const T* from = elements_of<T>(src, dst.elements(), "src");
    parallel_for_blocks(dst.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
        lanes.store(to + i, lanes.load(to + i) + lanes.load(from + i));
      });
    });
  });
}

void convert(const Stream& stream, const Tensor& dst, const Tensor& src) {
  if (on_device(stream)) return cuda::convert(stream, dst, src);
  with_type(src.dtype(), [&]<class T>(Type<T>) {
    with_type(dst.dtype(), [&]<class U>(Type<U>) {
      U* to = elements_of<U>(dst, dst.elements(), "dst");
      const T* from = elements_of<T>(src, dst.elements(), "src");
      parallel_for_blocks(dst.elements(), block, [=](std::int64_t begin, std::int64_t end) {
        if constexpr (std::is_same_v<U, Bf16>) {  // exact: vectors may lose subnormal numbers
#pragma omp simd
          for (std::int64_t i = begin; i < end; ++i) to[i] = float{from[i]};
        } else {
          for_vectors(begin, end, [=](std::int64_t i, auto lanes) {
            lanes.store(to + i, lanes.load(from + i));
          });
        }
      });
    });
  });
}

void scale(const Stream& stream, const Tensor& y, const Tensor& x, float factor) {
  if (on_device(stream)) return cuda::scale(stream, y, x, factor);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> to = rows_of<T>(y, "y");
    const Rows<T> from = rows_like(x, to, "x");
    parallel_for(to.rows, [=](std::int64_t r) {
      T* out = to[r];
      const T* in = from[r];
      for_vectors(0, to.columns, [=](std::int64_t c, auto lanes) {
        lanes.store(out + c, factor * lanes.load(in + c));
      });
    });
  });
}

void copy_rows(const Stream& stream, const Tensor& dst, const Tensor& src) {
  if (on_device(stream)) return cuda::copy_rows(stream, dst, src);
  with_type(dst.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> to = rows_of<T>(dst, "dst");
    const Rows<T> from = rows_like(src, to, "src");
    parallel_for(to.rows, [=](std::int64_t r) { std::copy_n(from[r], to.columns, to[r]); });
  });
}

void bias_backward(const Stream& stream, const Tensor& dbias, const Tensor& dy, bool accumulate,
                   Arena& scratch) {
  if (on_device(stream)) return cuda::bias_backward(stream, dbias, dy, accumulate, scratch);
  const std::int64_t columns = dbias.elements();
  const std::int64_t blocks = row_blocks(dy.size(0));
  const ArenaScope scope(scratch);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dy.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> in = rows_of<T>(dy, "dy");
    check(in.columns == columns, "dbias of shape {} for {} columns", dbias.shape(), in.columns);
    parallel_for(blocks, [=](std::int64_t b) {
      sum_rows(partials + b * columns, in, b * rows_per_block,
               std::min(in.rows, (b + 1) * rows_per_block));
    });
  });
  add_partial_rows(dbias, partials, blocks, accumulate);
}

std::size_t bias_backward_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return column_sum_bytes(row_blocks(rows), columns);
}

}  // namespace triax
