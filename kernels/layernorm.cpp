#include "kernels/layernorm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/column_sum.hpp"

namespace triax {
namespace {

struct RowStatistics {
  float mean;
  float rstd;
};

RowStatistics statistics_of(const float* x, std::int64_t columns, float epsilon) {
  const float inverse = 1.0F / static_cast<float>(columns);
  const float mean = lane_sum<float>(columns, [=](std::int64_t c) { return x[c]; }) * inverse;
  const float variance = inverse * lane_sum<float>(columns, [=](std::int64_t c) {
                           return (x[c] - mean) * (x[c] - mean);
                         });
  return {mean, 1.0F / std::sqrt(variance + epsilon)};
}

// The pointers of one row of the backward pass; residual may be null.
struct BackwardRow {
  float* dx;
  const float* dy;
  const float* residual;
  const float* x;
};

// With xhat = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight += dy xhat,  dbias += dy
void backward_row(const BackwardRow& row, const float* weight, float* dweight, float* dbias,
                  std::int64_t columns, float epsilon) {
  const auto [dx, dy, residual, x] = row;
  const auto [mean, rstd] = statistics_of(x, columns, epsilon);
  const float inverse = 1.0F / static_cast<float>(columns);
  const float mean_g =
      inverse * lane_sum<float>(columns, [=](std::int64_t c) { return dy[c] * weight[c]; });
  const float mean_gx = inverse * lane_sum<float>(columns, [=](std::int64_t c) {
                          return dy[c] * weight[c] * ((x[c] - mean) * rstd);
                        });
#pragma omp simd
  for (std::int64_t c = 0; c < columns; ++c) {
    dweight[c] += dy[c] * ((x[c] - mean) * rstd);
    dbias[c] += dy[c];
  }
  const auto gradient = [=](std::int64_t c) {
    return rstd * (dy[c] * weight[c] - mean_g - (x[c] - mean) * rstd * mean_gx);
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

void layernorm_forward(const Stream&, const Tensor& y, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, float epsilon) {
  const Rows<float> out = rows_of(y, "y");
  const Rows<float> in = rows_like(x, out, "x");
  const float* gain = elements_of(weight, out.columns, "weight");
  const float* shift = elements_of(bias, out.columns, "bias");
  parallel_for(out.rows, [=](std::int64_t r) {
    float* to = out[r];
    const float* from = in[r];
    const auto [mean, rstd] = statistics_of(from, out.columns, epsilon);
#pragma omp simd
    for (std::int64_t c = 0; c < out.columns; ++c)
      to[c] = (from[c] - mean) * rstd * gain[c] + shift[c];
  });
}

void layernorm_backward(const Stream&, const Tensor& dx, const Tensor& dweight, const Tensor& dbias,
                        const Tensor& dy, const Tensor& residual, const Tensor& x,
                        const Tensor& weight, float epsilon, bool accumulate, Arena& scratch) {
  const Rows<float> out = rows_of(dx, "dx");
  const Rows<float> upstream = rows_like(dy, out, "dy");
  const Rows<float> in = rows_like(x, out, "x");
  const Rows<float> skip = residual.empty() ? Rows<float>{} : rows_like(residual, out, "residual");
  const std::int64_t columns = out.columns;
  const float* gain = elements_of(weight, columns, "weight");
  float* dgain = elements_of(dweight, columns, "dweight");
  float* dshift = elements_of(dbias, columns, "dbias");

  const ArenaScope scope(scratch);
  const std::int64_t blocks = row_blocks(out.rows);
  float* gain_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  float* shift_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  parallel_for(blocks, [=](std::int64_t b) {
    float* gain_sums = gain_partials + b * columns;
    float* shift_sums = shift_partials + b * columns;
    std::fill_n(gain_sums, columns, 0.0F);
    std::fill_n(shift_sums, columns, 0.0F);
    const std::int64_t end = std::min(out.rows, (b + 1) * rows_per_block);
    for (std::int64_t r = b * rows_per_block; r < end; ++r) {
      const BackwardRow row{out[r], upstream[r], skip.data ? skip[r] : nullptr, in[r]};
      backward_row(row, gain, gain_sums, shift_sums, columns, epsilon);
    }
  });
  add_partial_rows(dgain, gain_partials, blocks, columns, accumulate);
  add_partial_rows(dshift, shift_partials, blocks, columns, accumulate);
}

std::size_t layernorm_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return 2 * column_sum_bytes(rows, columns);
}

}  // namespace triax
