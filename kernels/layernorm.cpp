#include "kernels/layernorm.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/base/parallel.hpp"
#include "kernels/base/past_caches.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_loop.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/gradient_row.hpp"
#include "kernels/residual_row.hpp"

namespace triax {
namespace {

constexpr std::int64_t rows_together = 16;  // of a parallel task of the forward pass

struct RowStatistics {
  float mean;
  float rstd;
};

template <class T>
float sum_of_row(const T* x, std::int64_t columns) {
  return vector_sum(columns, [=](std::int64_t c, auto lanes) { return lanes.stream(x + c); });
}

// From the sum of the row x. Memory gets ready meanwhile what lies at `later`.
template <class T>
RowStatistics statistics_of(const T* x, float sum, std::int64_t columns, float epsilon,
                            const T* later) {
  const float inverse = 1.0F / static_cast<float>(columns);
  const float mean = inverse * sum;
  const float variance = inverse * vector_sum(columns, [=](std::int64_t c, auto lanes) {
                           prefetch(later + c);
                           const FloatVector centred = lanes.load(x + c) - mean;
                           return Product{centred, centred};
                         });
  return {mean, 1.0F / std::sqrt(variance + epsilon)};
}

// Rows [begin, end) of y. The next row is read first while this one is written, so that memory is
// busy both ways.
template <class T>
void forward_rows(const Rows<T>& y, const Rows<T>& x, const T* weight, const T* bias, float epsilon,
                  [[maybe_unused]] bool past, std::int64_t begin, std::int64_t end) {
  const std::int64_t columns = y.columns;
  float sum = sum_of_row(x[begin], columns);
  for (std::int64_t r = begin; r < end; ++r) {
    T* to = y[r];
    const T* from = x[r];
    const T* next = x[std::min(r + 1, end - 1)];
    const auto [mean, rstd] = statistics_of(from, sum, columns, epsilon, next);
    sum = vector_sum(columns, [=, mean = mean, rstd = rstd](std::int64_t c, auto lanes) {
      const FloatVector xhat = (lanes.load(from + c) - mean) * rstd;
      const FloatVector out = multiply_add(xhat, lanes.load(weight + c), lanes.load(bias + c));
      if constexpr (std::is_same_v<T, float>)
        lanes.write(to + c, out, past);
      else
        lanes.store(to + c, out);  // past the caches it takes longer
      return lanes.load(next + c);
    });
  }
}

template <std::size_t n>
struct StatisticsOfRows {
  std::array<float, n> mean, rstd;
};

template <class T, std::size_t n>
StatisticsOfRows<n> statistics_of(const std::array<GradientRow<T>, n>& rows, std::int64_t columns,
                                  float epsilon) {
  const float inverse = 1.0F / static_cast<float>(columns);
  StatisticsOfRows<n> of;
  float sums[n];
  vector_sums(sums, columns, [=](std::int64_t c, auto lanes, const auto& add) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) add(i, lanes.stream(rows[i].x + c));
  });
  for (std::size_t i = 0; i < n; ++i) of.mean[i] = inverse * sums[i];
  vector_sums(sums, columns, [=, mean = of.mean](std::int64_t c, auto lanes, const auto& add) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      prefetch(reinterpret_cast<const char*>(rows[i].dy + c) + bytes_ahead);
      const FloatVector centred = lanes.load(rows[i].x + c) - mean[i];
      add(i, Product{centred, centred});
    }
  });
  for (std::size_t i = 0; i < n; ++i) of.rstd[i] = 1.0F / std::sqrt(inverse * sums[i] + epsilon);
  return of;
}

// With xhat = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight += dy xhat,  dbias += dy
template <class T, std::size_t n>
void backward_rows(const std::array<GradientRow<T>, n>& rows, const T* weight, float* dweight,
                   float* dbias, std::int64_t columns, float epsilon) {
  const auto [mean, rstd] = statistics_of(rows, columns, epsilon);
  const float inverse = 1.0F / static_cast<float>(columns);
  float sums[2 * n];  // of g and of g xhat
  vector_sums(sums, columns,
              [=, mean = mean, rstd = rstd](std::int64_t c, auto lanes, const auto& add) {
#pragma GCC unroll 2
                for (std::size_t i = 0; i < n; ++i) {
                  const FloatVector g = lanes.load(rows[i].dy + c) * lanes.load(weight + c);
                  add(2 * i, g);
                  add(2 * i + 1, Product{g, (lanes.load(rows[i].x + c) - mean[i]) * rstd[i]});
                }
              });
  std::array<float, n> minus_g, minus_gx;  // the means
  for (std::size_t i = 0; i < n; ++i) {
    minus_g[i] = -inverse * sums[2 * i];
    minus_gx[i] = -inverse * sums[2 * i + 1];
  }
  store_gradients(rows, columns, [=, mean = mean, rstd = rstd](std::int64_t c, auto lanes) {
    const FloatVector gain = lanes.load(weight + c), zero{};
    std::array<GradientFactors, n> gradients;
    FloatVector gain_sum = lanes.load(dweight + c);
    FloatVector shift_sum = lanes.load(dbias + c);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      const FloatVector d = lanes.load(rows[i].dy + c);
      const FloatVector xhat = (lanes.load(rows[i].x + c) - mean[i]) * rstd[i];
      gain_sum = multiply_add(d, xhat, gain_sum);
      shift_sum = shift_sum + d;
      gradients[i] = {rstd[i], multiply_add(xhat, zero + minus_gx[i],
                                            multiply_add(d, gain, zero + minus_g[i]))};
    }
    lanes.store(dweight + c, gain_sum);
    lanes.store(dbias + c, shift_sum);
    return gradients;
  });
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
    const bool past = past_caches(y, {&x});
    parallel_for_blocks(out.rows, rows_together, [=](std::int64_t begin, std::int64_t end) {
      forward_rows(out, in, gain, shift, epsilon, past, begin, end);
    });
  });
}

void residual_layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                                const Tensor& x, const Tensor& a, const Tensor& residual_bias,
                                const Tensor& weight, const Tensor& bias, float epsilon) {
  if (on_device(stream))
    return cuda::residual_layernorm_forward(stream, y, sum, x, a, residual_bias, weight, bias,
                                            epsilon);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const ResidualRows<T> in = residual_rows<T>(sum, x, a, residual_bias);
    const Rows<T> out = rows_like(y, in.sum, "y");
    const T* gain = elements_of<T>(weight, out.columns, "weight");
    const T* shift = elements_of<T>(bias, out.columns, "bias");
    const bool past = past_caches(y, {&sum});
    parallel_for_blocks(out.rows, rows_together, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) add_residual(in, r, false);
      forward_rows(out, in.sum, gain, shift, epsilon, past, begin, end);
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
                                [=](const auto& rows, const auto& sums) {
                                  backward_rows(rows, gain, sums[0], sums[1], columns, epsilon);
                                });
  });
  add_partial_rows(dweight, gain_partials, blocks, accumulate);
  add_partial_rows(dbias, shift_partials, blocks, accumulate);
}

std::size_t layernorm_scratch_bytes(std::int64_t rows, std::int64_t columns, MemorySpace space) {
  return 2 * column_sum_bytes(norm_blocks(rows, space), columns);
}

}  // namespace triax
