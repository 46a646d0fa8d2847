#include "kernels/rmsnorm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/column_sum.hpp"

namespace triax {
namespace {

float reciprocal_rms(const float* x, std::int64_t columns, float epsilon) {
  const float squares = lane_sum<float>(columns, [=](std::int64_t c) { return x[c] * x[c]; });
  return 1.0F / std::sqrt(squares / static_cast<float>(columns) + epsilon);
}

// The pointers of one row of the backward pass; residual may be null.
struct BackwardRow {
  float* dx;
  const float* dy;
  const float* residual;
  const float* x;
};

// With xhat = x r and g = dy weight: dx = r (g - xhat mean(g xhat)),  dweight += dy xhat
void backward_row(const BackwardRow& row, const float* weight, float* dweight, std::int64_t columns,
                  float epsilon) {
  const auto [dx, dy, residual, x] = row;
  const float r = reciprocal_rms(x, columns, epsilon);
  const float sum_gx =
      lane_sum<float>(columns, [=](std::int64_t c) { return dy[c] * weight[c] * (x[c] * r); });
  const float mean_gx = sum_gx / static_cast<float>(columns);
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c) dweight[c] += dy[c] * (x[c] * r);
  const auto gradient = [=](std::int64_t c) {
    return r * (dy[c] * weight[c] - x[c] * r * mean_gx);
  };
  if (residual) {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = residual[c] + gradient(c);
  } else {
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) dx[c] = gradient(c);
  }
}

}  // namespace

void rmsnorm_forward(const Stream&, const Tensor& y, const Tensor& x, const Tensor& weight,
                     float epsilon) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> in = rows_like(x, out, "x");
  const float* gain = elements_of(weight, out.columns, "weight");
  parallel_for(out.rows, [=](std::int64_t row) {
    float* to = out[row];
    const float* from = in[row];
    const float r = reciprocal_rms(from, out.columns, epsilon);
#pragma omp simd
    for (std::int64_t c = 0; c < out.columns; ++c) to[c] = from[c] * r * gain[c];
  });
}

void rmsnorm_backward(const Stream&, const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                      const Tensor& residual, const Tensor& x, const Tensor& weight, float epsilon,
                      bool accumulate, Arena& scratch) {
  const Rows<float> out = rows_of(dx, "dx");
  const Rows<float> upstream = rows_like(dy, out, "dy");
  const Rows<float> in = rows_like(x, out, "x");
  const Rows<float> skip = residual.empty() ? Rows<float>{} : rows_like(residual, out, "residual");
  const std::int64_t columns = out.columns;
  const float* gain = elements_of(weight, columns, "weight");
  float* dgain = elements_of(dweight, columns, "dweight");

  const ArenaScope scope(scratch);
  const std::int64_t blocks = row_blocks(out.rows);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  parallel_for(blocks, [=](std::int64_t b) {
    float* sums = partials + b * columns;
    std::fill_n(sums, columns, 0.0F);
    const std::int64_t end = std::min(out.rows, (b + 1) * rows_per_block);
    for (std::int64_t r = b * rows_per_block; r < end; ++r) {
      const BackwardRow row{out[r], upstream[r], skip.data ? skip[r] : nullptr, in[r]};
      backward_row(row, gain, sums, columns, epsilon);
    }
  });
  add_partial_rows(dgain, partials, blocks, columns, accumulate);
}

std::size_t rmsnorm_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return column_sum_bytes(rows, columns);
}

}  // namespace triax
