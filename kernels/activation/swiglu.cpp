// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/swiglu.hpp"

#include <numbers>
#include <type_traits>

#include "kernels/activation/gelu_formula.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/coarse_math.hpp"
#include "kernels/simd/past_caches.hpp"

namespace triax {
namespace {

inline FloatVector sigmoid(FloatVector x) {
  return sigmoid_from(exp_of_minus(x));
}

// Argument of for_coarse_sigmoids for sigmoid(x), for results that are rounded to 16 bits.
template <int n>
[[gnu::always_inline]] inline SigmoidArgument<n> sigmoid_argument(const VectorGroup<n>& x) {
  return {x, x * -std::numbers::log2e_v<float>};
}

// Rows of the fused (N, 2 I) matrix that belong to the rows of `half` (N, I).
template <class T>
Rows<T> fused_rows(const Tensor& tensor, const Rows<T>& half, const char* name) {
  const Rows<T> rows = rows_of<T>(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

}  // namespace

void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_forward(stream, y, x);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = fused_rows(x, out, "x");
    const bool past = past_caches(y, {&x});
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const T* gates = in[r];
      const T* ups = gates + out.columns;
      if constexpr (!std::is_same_v<T, float>)
        for_coarse_sigmoids(
            0, out.columns,
            [=](std::int64_t c, auto lanes) { return sigmoid_argument(lanes.stream(gates + c)); },
            [=](std::int64_t c, const auto& of, auto lanes) {
              const auto silu = of.x * of.value();
              lanes.write(to + c, silu * lanes.stream(ups + c), past);
            });
      else
        for_vectors(0, out.columns, [=](std::int64_t c, auto lanes) {
          const FloatVector gate = lanes.stream(gates + c);
          lanes.write(to + c, gate * sigmoid(gate) * lanes.stream(ups + c), past);
        });
    });
  });
}

void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_backward(stream, dx, y, dy, x);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> upstream = rows_like(dy, out, "dy");
    const Rows<T> in = fused_rows(x, out, "x");
    const Rows<T> gradient = fused_rows(dx, out, "dx");
    // The second half of a row must be aligned for store_two, too.
    const bool whole_lines = out.columns % (2 * vector_floats) == 0;
    const bool past = whole_lines && past_caches(dx, {&dy, &x});
    const bool past_y = past_caches(y, {&dy, &x});
    parallel_for(out.rows, [=](std::int64_t r) {
      const std::int64_t columns = out.columns;
      const T* gates = in[r];
      const T* ups = gates + columns;
      const T* dout = upstream[r];
      T* dgate = gradient[r];
      T* dup = dgate + columns;
      T* to = out[r];
      if constexpr (!std::is_same_v<T, float>)
        for_coarse_sigmoids(
            0, columns,
            [=](std::int64_t c, auto lanes) { return sigmoid_argument(lanes.stream(gates + c)); },
            [=](std::int64_t c, const auto& of, auto lanes) {
              const auto d = lanes.stream(dout + c);
              const auto up = lanes.stream(ups + c);
              const auto s = of.value();
              const auto silu = of.x * s;
              lanes.write(dgate + c, d * up * multiply_add(silu, of.rest(s), s), past);
              lanes.write(dup + c, d * silu, past);
              lanes.write(to + c, silu * up, past_y);
            });
      else
        for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
          const FloatVector d = lanes.stream(dout + c);
          const FloatVector gate = lanes.stream(gates + c);
          const FloatVector up = lanes.stream(ups + c);
          const FloatVector s = sigmoid(gate);
          const FloatVector silu = gate * s;
          lanes.write(dgate + c, d * up * (s + silu * (1.0F - s)), past);
          lanes.write(dup + c, d * silu, past);
          lanes.write(to + c, silu * up, past_y);
        });
    });
  });
}

}  // namespace triax
