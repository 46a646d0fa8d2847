// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm/layernorm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/norm/column_sum.hpp"
#include "kernels/norm/gradient_row.hpp"
#include "kernels/norm/norm_scale.hpp"
#include "kernels/norm/residual_row.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

constexpr std::int64_t rows_together = 16;  // rows per parallel task of the forward pass
constexpr int partial_sums = 32;            // of each sum; more would not fit the registers

// Statistics of a row from one pass. Deviations are taken from a pivot near the mean, so that
// neither their squares nor the digits of a row with a large mean cancel.
struct RowStatistics {
  float pivot;
  float rest;  // mean - pivot
  float rstd;
  float offset;  // -rest * rstd
};

// The mean of the first 64 elements. It differs from the mean of all n by at most sqrt(n / 64)
// standard deviations, so cancellation costs the variance at most a factor of n / 64.
template <class T>
float pivot_of(const T* x, std::int64_t columns) {
  const std::int64_t first = std::min<std::int64_t>(columns, 64);
  const float sum =
      vector_sum(first, [=](std::int64_t c, auto lanes) { return lanes.load(x + c); });
  return sum / static_cast<float>(first);
}

// Statistics from the sums of x - pivot and of its square.
RowStatistics statistics_of(float pivot, float sum, float squares, std::int64_t columns,
                            float epsilon) {
  const float inverse = 1.0F / static_cast<float>(columns);
  const float rest = inverse * sum;
  const float variance = inverse * squares - rest * rest;
  const float rstd = norm_scale(larger(0.0F, variance), epsilon);  // NaN stays
  return {pivot, rest, rstd, -rest * rstd};
}

// (x - mean) * rstd.
FloatVector normalised(FloatVector x, const RowStatistics& of) {
  return multiply_add(x - of.pivot, FloatVector{} + of.rstd, FloatVector{} + of.offset);
}

template <class T>
struct ForwardRows {
  Rows<T> y, x;
  const T *weight, *bias;
  float epsilon;
  bool past;
};

template <std::size_t n, class T>
std::array<T*, n> rows_from(const Rows<T>& rows, std::int64_t r) {
  std::array<T*, n> from;
  for (std::size_t i = 0; i < n; ++i) from[i] = rows[r + static_cast<std::int64_t>(i)];
  return from;
}

// Statistics of n rows side by side in one pass, which also calls meanwhile(c, lanes).
template <std::size_t n, class T, class Meanwhile>
std::array<RowStatistics, n> statistics_of(const std::array<T*, n>& x, std::int64_t columns,
                                           float epsilon, const Meanwhile& meanwhile) {
  std::array<float, n> pivots;
  for (std::size_t i = 0; i < n; ++i) pivots[i] = pivot_of(x[i], columns);
  float sums[2 * n];
  vector_sums<partial_sums>(sums, columns, [=](std::int64_t c, auto lanes, const auto& add) {
    meanwhile(c, lanes);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      const FloatVector deviation = lanes.stream(x[i] + c) - pivots[i];
      add(2 * i, deviation);
      add(2 * i + 1, Product{deviation, deviation});
    }
  });
  std::array<RowStatistics, n> of;
  for (std::size_t i = 0; i < n; ++i)
    of[i] = statistics_of(pivots[i], sums[2 * i], sums[2 * i + 1], columns, epsilon);
  return of;
}

// Normalises rows from `begin` on in groups of n and returns the end of the last whole group. The
// next rows are read while these are written, so that memory is busy in both directions.
template <std::size_t n, class T>
std::int64_t forward_groups(const ForwardRows<T>& rows, std::int64_t begin, std::int64_t end) {
  constexpr auto step = static_cast<std::int64_t>(n);
  if (begin + step > end) return begin;
  const std::int64_t columns = rows.y.columns;
  const auto nothing = [](std::int64_t, auto) {};
  auto statistics = statistics_of(rows_from<n>(rows.x, begin), columns, rows.epsilon, nothing);
  for (std::int64_t r = begin;; r += step) {
    const auto write = [=, weight = rows.weight, bias = rows.bias, past = rows.past,
                        from = rows_from<n>(rows.x, r),
                        to = rows_from<n>(rows.y, r)](std::int64_t c, auto lanes) {
      const FloatVector gain = lanes.load(weight + c), shift = lanes.load(bias + c);
#pragma GCC unroll 2
      for (std::size_t i = 0; i < n; ++i) {
        const FloatVector xhat = normalised(lanes.load(from[i] + c), statistics[i]);
        lanes.write(to[i] + c, multiply_add(xhat, gain, shift), past);
      }
    };
    if (r + 2 * step > end) {
      for_vectors(0, columns, write);
      return r + step;
    }
    statistics = statistics_of(rows_from<n>(rows.x, r + step), columns, rows.epsilon, write);
  }
}

// Two rows share the widening of weights. In float32 nothing is widened and memory is the limit:
// one row at a time has fewer streams.
template <class T>
void forward_rows(const ForwardRows<T>& rows, std::int64_t begin, std::int64_t end) {
  if constexpr (!std::is_same_v<T, float>)
    begin = forward_groups<rows_side_by_side>(rows, begin, end);
  forward_groups<1>(rows, begin, end);
}

// With xhat = (x - mean) rstd and g = dy weight:
//   dx = rstd (g - mean(g) - xhat mean(g xhat)),  dweight += dy xhat,  dbias += dy
template <class T, std::size_t n>
void backward_rows(const std::array<GradientRow<T>, n>& rows, const T* weight, float* dweight,
                   float* dbias, std::int64_t columns, float epsilon) {
  std::array<float, n> pivots;
  for (std::size_t i = 0; i < n; ++i) pivots[i] = pivot_of(rows[i].x, columns);
  float sums[4 * n];  // sums of x - pivot, of its square, of g and of g (x - pivot)
  vector_sums<partial_sums>(sums, columns, [=](std::int64_t c, auto lanes, const auto& add) {
    const FloatVector gain = lanes.load(weight + c);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      const FloatVector deviation = lanes.stream(rows[i].x + c) - pivots[i];
      const FloatVector g = lanes.stream(rows[i].dy + c) * gain;
      add(4 * i, deviation);
      add(4 * i + 1, Product{deviation, deviation});
      add(4 * i + 2, g);
      add(4 * i + 3, Product{g, deviation});
    }
  });
  const float inverse = 1.0F / static_cast<float>(columns);
  std::array<RowStatistics, n> statistics;
  std::array<float, n> minus_g, minus_gx;  // minus mean(g) and minus mean(g xhat)
  for (std::size_t i = 0; i < n; ++i) {
    const float* of = sums + 4 * i;
    statistics[i] = statistics_of(pivots[i], of[0], of[1], columns, epsilon);
    minus_g[i] = -inverse * of[2];
    minus_gx[i] = -inverse * statistics[i].rstd * (of[3] - statistics[i].rest * of[2]);
  }
  store_gradients(rows, columns, [=](std::int64_t c, auto lanes) {
    const FloatVector gain = lanes.load(weight + c), zero{};
    std::array<GradientFactors, n> gradients;
    FloatVector gain_sum = lanes.load(dweight + c);
    FloatVector shift_sum = lanes.load(dbias + c);
#pragma GCC unroll 2
    for (std::size_t i = 0; i < n; ++i) {
      const FloatVector d = lanes.load(rows[i].dy + c);
      const FloatVector xhat = normalised(lanes.load(rows[i].x + c), statistics[i]);
      gain_sum = multiply_add(d, xhat, gain_sum);
      shift_sum = shift_sum + d;
      gradients[i] = {statistics[i].rstd, multiply_add(xhat, zero + minus_gx[i],
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
    const ForwardRows<T> all{out, in, gain, shift, epsilon, past_caches(y, {&x})};
    parallel_for_blocks(out.rows, rows_together, [=](std::int64_t begin, std::int64_t end) {
      forward_rows(all, begin, end);
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
    const ForwardRows<T> all{out, in.sum, gain, shift, epsilon, past_caches(y, {&sum})};
    parallel_for_blocks(out.rows, rows_together, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) add_residual(in, r, false);
      forward_rows(all, begin, end);
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
  check((dweight.empty() || dweight.elements() == columns) &&
            (dbias.empty() || dbias.elements() == columns),
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
