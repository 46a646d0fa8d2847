#include "kernels/layernorm.hpp"

#include <cmath>

#include "kernels/base/lane_sum.hpp"
#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/gradient_row.hpp"

namespace triax {
namespace {

struct RowStatistics {
  float mean;
  float rstd;
};

template <class T>
RowStatistics statistics_of(const T* x, std::int64_t columns, float epsilon) {
  const float inverse = 1.0F / static_cast<float>(columns);
  const float mean =
      lane_sum<float>(columns, [=](std::int64_t c) -> float { return x[c]; }) * inverse;
  const float variance = inverse * lane_sum<float>(columns, [=](std::int64_t c) {
                           return (x[c] - mean) * (x[c] - mean);
                         });
  return {mean, 1.0F / std::sqrt(variance + epsilon)};
}

// With xhat = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight += dy xhat,  dbias += dy
template <class T>
void backward_row(const GradientRow<T>& row, const T* weight, float* dweight, float* dbias,
                  std::int64_t columns, float epsilon) {
  const T* dy = row.dy;
  const T* x = row.x;
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
  store_gradient(row, columns, gradient);
}

}  // namespace

void layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, float epsilon) {
  if (on_device(stream)) return cuda::layernorm_forward(stream, y, x, weight, bias, epsilon);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = rows_like(x, out, "x");
    const T* gain = elements_of<T>(weight, out.columns, "weight");
    const T* shift = elements_of<T>(bias, out.columns, "bias");
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const T* from = in[r];
      const auto [mean, rstd] = statistics_of(from, out.columns, epsilon);
#pragma omp simd
      for (std::int64_t c = 0; c < out.columns; ++c)
        to[c] = (from[c] - mean) * rstd * gain[c] + shift[c];
    });
  });
}

void layernorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                        const Tensor& dbias, const Tensor& dy, const Tensor& residual,
                        const Tensor& x, const Tensor& weight, float epsilon, bool accumulate,
                        Arena& scratch) {
  if (on_device(stream))
    return cuda::layernorm_backward(stream, dx, dweight, dbias, dy, residual, x, weight, epsilon,
                                    accumulate, scratch);
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = row_blocks(dx.size(0));
  check(dweight.elements() == columns && dbias.elements() == columns,
        "dweight of shape {} and dbias of shape {} for {} columns", dweight.shape(), dbias.shape(),
        columns);
  float* gain_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  float* shift_partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    const T* gain = elements_of<T>(weight, columns, "weight");
    for_each_gradient_row<T, 2>(dx, dy, residual, x, {gain_partials, shift_partials},
                                [=](const GradientRow<T>& row, const auto& sums) {
                                  backward_row(row, gain, sums[0], sums[1], columns, epsilon);
                                });
  });
  add_partial_rows(dweight, gain_partials, blocks, accumulate);
  add_partial_rows(dbias, shift_partials, blocks, accumulate);
}

std::size_t layernorm_scratch_bytes(std::int64_t rows, std::int64_t columns) {
  return 2 * column_sum_bytes(rows, columns);
}

}  // namespace triax
