// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/rmsnorm.hpp"

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/norm/column_sum.hpp"
#include "kernels/norm/gradient_row.hpp"
#include "kernels/norm/norm_scale.hpp"
#include "kernels/norm/norm_weight.hpp"
#include "kernels/norm/residual_row.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

template <class T>
float reciprocal_rms(const T* x, std::int64_t columns, float epsilon) {
  const float squares = vector_sum(columns, [=](std::int64_t c, auto lanes) {
    const FloatVector v = lanes.stream(x + c);
    return Product{v, v};
  });
  return norm_scale(squares / static_cast<float>(columns), epsilon);
}

template <class T, class Gain>
void forward_row(T* y, const T* x, const Gain& gain, std::int64_t columns, float epsilon,
                 bool past) {
  const float r = reciprocal_rms(x, columns, epsilon);
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    lanes.write(y + c, lanes.load(x + c) * r * gain(c, lanes), past);
  });
}

// With xhat = x r and g = dy weight: dx = r (g - xhat mean(g xhat)),  dweight += dy xhat
template <class T, std::size_t n, class Gain>
void backward_rows(const std::array<GradientRow<T>, n>& rows, const Gain& gain, float* dweight,
                   std::int64_t columns, float epsilon) {
  std::array<float, n> factor, minus_gx;  // minus mean(g xhat)
  for (std::size_t i = 0; i < n; ++i) factor[i] = reciprocal_rms(rows[i].x, columns, epsilon);
  float sums[n];
  vector_sums(sums, columns, [=](std::int64_t c, auto lanes, const auto& add) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i)
      add(i, Product{lanes.stream(rows[i].dy + c) * gain(c, lanes),
                     lanes.load(rows[i].x + c) * factor[i]});
  });
  for (std::size_t i = 0; i < n; ++i) minus_gx[i] = -sums[i] / static_cast<float>(columns);
  store_gradients(rows, columns, [=](std::int64_t c, auto lanes) {
    const FloatVector zero{};
    std::array<GradientFactors, n> gradients;
    FloatVector sum = lanes.load(dweight + c);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      const FloatVector d = lanes.load(rows[i].dy + c);
      const FloatVector xhat = lanes.load(rows[i].x + c) * factor[i];
      sum = multiply_add(d, xhat, sum);
      gradients[i] = {factor[i], multiply_add(xhat, zero + minus_gx[i], d * gain(c, lanes))};
    }
    lanes.store(dweight + c, sum);
    return gradients;
  });
}

}  // namespace

void rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     float epsilon, float weight_offset) {
  if (on_device(stream)) return cuda::rmsnorm_forward(stream, y, x, weight, epsilon, weight_offset);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = rows_like(x, out, "x");
    const bool past = past_caches(y, {&x});
    with_weight(elements_of<T>(weight, out.columns, "weight"), weight_offset, [&](auto gain) {
      parallel_for(out.rows, [=](std::int64_t row) {
        forward_row(out[row], in[row], gain, out.columns, epsilon, past);
      });
    });
  });
}

void residual_rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                              const Tensor& x, const Tensor& a, const Tensor& bias,
                              const Tensor& weight, float epsilon, float weight_offset) {
  if (on_device(stream))
    return cuda::residual_rmsnorm_forward(stream, y, sum, x, a, bias, weight, epsilon,
                                          weight_offset);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const ResidualRows<T> in = residual_rows<T>(sum, x, a, bias);
    const Rows<T> out = rows_like(y, in.sum, "y");
    const bool past = past_caches(y, {&sum});
    with_weight(elements_of<T>(weight, out.columns, "weight"), weight_offset, [&](auto gain) {
      parallel_for(out.rows, [=](std::int64_t row) {
        add_residual(in, row, false);
        forward_row(out[row], in.sum[row], gain, out.columns, epsilon, past);
      });
    });
  });
}

void rmsnorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& residual, const Tensor& x,
                      const Tensor& weight, float epsilon, bool accumulate, Arena& scratch,
                      float weight_offset) {
  if (on_device(stream))
    return cuda::rmsnorm_backward(stream, dx, dweight, dy, residual, x, weight, epsilon, accumulate,
                                  scratch, weight_offset);
  const ArenaScope scope(scratch);
  const std::int64_t columns = weight.elements();
  const std::int64_t blocks = row_blocks(dx.size(0));
  check(dweight.empty() || dweight.elements() == columns, "dweight of shape {} for {} columns",
        dweight.shape(), columns);
  float* partials = scratch.take("column sums", DType::f32, {blocks, columns}).as<float>();
  with_type(dx.dtype(), [&]<class T>(Type<T>) {
    with_weight(elements_of<T>(weight, columns, "weight"), weight_offset, [&](auto gain) {
      for_each_gradient_row<T, 1>(dx, dy, residual, x, {partials},
                                  [=](const auto& rows, const auto& sums) {
                                    backward_rows(rows, gain, sums[0], columns, epsilon);
                                  });
    });
  });
  add_partial_rows(dweight, partials, blocks, accumulate);
}

std::size_t rmsnorm_scratch_bytes(std::int64_t rows, std::int64_t columns, MemorySpace space) {
  return column_sum_bytes(norm_blocks(rows, space), columns);
}

}  // namespace triax
