// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/swiglu.hpp"

#include <numbers>
#include <type_traits>

#include "kernels/activation/gated.hpp"
#include "kernels/activation/gelu_formula.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/simd/coarse_math.hpp"

namespace triax {
namespace {

template <int n>
struct CoarseSilu {
  VectorGroup<n> value, slope;
};

// SiLU; results of 16 bits from coarse sigmoids.
struct Silu {
  [[gnu::always_inline]] static ValueAndSlope<FloatVector> of(FloatVector x) {
    const FloatVector s = sigmoid_from(exp_of_minus(x));
    const FloatVector silu = x * s;
    return {silu, s + silu * (1.0F - s)};
  }
  template <int n>
  [[gnu::always_inline]] static CoarseSilu<n> of(const CoarseSigmoid<n>& sigmoid) {
    const VectorGroup<n> s = sigmoid.value();
    const VectorGroup<n> silu = sigmoid.x * s;
    return {silu, multiply_add(silu, sigmoid.rest(s), s)};
  }
  // The argument of sigmoid(x).
  template <int n>
  [[gnu::always_inline]] static SigmoidArgument<n> argument(const VectorGroup<n>& x) {
    return {x, x * -std::numbers::log2e_v<float>};
  }

  template <class T, class Last>
  [[gnu::always_inline]] static void for_each(const T* in, std::int64_t begin, std::int64_t end,
                                              const Last& last) {
    if constexpr (!std::is_same_v<T, float>)
      for_coarse_sigmoids(
          begin, end, [=](std::int64_t i, auto lanes) { return argument(lanes.stream(in + i)); },
          [=](std::int64_t i, const auto& sigmoid, auto lanes) { last(i, of(sigmoid), lanes); });
    else
      for_vectors(begin, end,
                  [=](std::int64_t i, auto lanes) { last(i, of(lanes.stream(in + i)), lanes); });
  }
};

}  // namespace

void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_forward(stream, y, x);
  gated_forward<Silu>(y, x);
}

void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  if (on_device(stream)) return cuda::swiglu_backward(stream, dx, y, dy, x);
  gated_backward<Silu>(dx, y, dy, x);
}

}  // namespace triax
