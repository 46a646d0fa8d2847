#include "kernels/elementwise.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/column_sum.hpp"

namespace triax {
namespace {

constexpr std::int64_t block = 16384;  // elements of a parallel task

// sums[c] = sum of rows [begin, end) of dy, four rows at a time so that `sums` is loaded and stored
// less often.
void sum_rows(float* sums, const Rows<float>& dy, std::int64_t begin, std::int64_t end) {
  std::fill_n(sums, dy.columns, 0.0F);
  std::int64_t r = begin;
  for (; r + 4 <= end; r += 4) {
    const float* row0 = dy[r];
    const float* row1 = dy[r + 1];
    const float* row2 = dy[r + 2];
    const float* row3 = dy[r + 3];
#pragma omp simd
    for (std::int64_t c = 0; c < dy.columns; ++c)
      sums[c] += (row0[c] + row1[c]) + (row2[c] + row3[c]);
  }
  for (; r < end; ++r) {
    const float* row = dy[r];
#pragma omp simd
    for (std::int64_t c = 0; c < dy.columns; ++c) sums[c] += row[c];
  }
}

}  // namespace

void residual_forward(const Stream&, const Tensor& y, const Tensor& x, const Tensor& a,
                      const Tensor& bias) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> left = rows_like(x, out, "x");
  const Rows<float> right = rows_like(a, out, "a");
  const float* shift = bias.empty() ? nullptr : elements_of(bias, out.columns, "bias");
  parallel_for(out.rows, [=](std::int64_t r) {
    float* to = out[r];
    const float* from = left[r];
    const float* more = right[r];
    if (shift) {
#pragma omp simd
      for (std::int64_t c = 0; c < out.columns; ++c) to[c] = from[c] + (more[c] + shift[c]);
    } else {
#pragma omp simd
      for (std::int64_t c = 0; c < out.columns; ++c) to[c] = from[c] + more[c];
    }
  });
}

void add_bias(const Stream&, const Tensor& y, const Tensor& bias) {
  const Rows<float> out = rows_of(y, "y");
  const float* shift = elements_of(bias, out.columns, "bias");
  parallel_for(out.rows, [=](std::int64_t r) {
    float* to = out[r];
#pragma omp simd
    for (std::int64_t c = 0; c < out.columns; ++c) to[c] += shift[c];
  });
}

void add(const Stream&, const Tensor& y, const Tensor& x) {
  float* to = elements_of(y, y.elements(), "y");
  const float* from = elements_of(x, y.elements(), "x");
  parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

void scale(const Stream&, const Tensor& y, float factor) {
  float* to = elements_of(y, y.elements(), "y");
  parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) to[i] *= factor;
  });
}

void bias_backward(const Stream&, const Tensor& dbias, const Tensor& dy, bool accumulate,
                   Arena& scratch) {
  const Rows<float> in = rows_of(dy, "dy");
  float* out = elements_of(dbias, in.columns, "dbias");
  const ArenaScope scope(scratch);
  const std::int64_t blocks = row_blocks(in.rows);
  float* partials = scratch.take("column sums", DType::f32, {blocks, in.columns}).as<float>();
  parallel_for(blocks, [=](std::int64_t b) {
    sum_rows(partials + b * in.columns, in, b * rows_per_block,
             std::min(in.rows, (b + 1) * rows_per_block));
  });
  add_partial_rows(out, partials, blocks, in.columns, accumulate);
}

std::size_t bias_backward_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return column_sum_bytes(rows, columns);
}

}  // namespace triax
