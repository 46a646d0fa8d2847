// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops of the host over GELUs, for GELU itself and for GEGLU.
#include <cstdint>
#include <type_traits>

#include "kernels/activation/coarse_gelu.hpp"
#include "kernels/activation/gelu.hpp"
#include "kernels/activation/gelu_formula.hpp"

namespace triax {

/// GELU with the tanh approximation; results of 16 bits by coarse_gelu.hpp.
struct TanhGelu {
  [[gnu::always_inline]] static ValueAndSlope<FloatVector> of(FloatVector x) {
    const GeluSigmoid s = gelu_sigmoid(exp_of_minus(gelu_argument(x)));
    return {x * s.value, multiply_add(x * gelu_argument_slope(x), s.derivative, s.value)};
  }
  /// last(i, gelu, lanes) for each i in [begin, end), with the value and the slope at in[i].
  template <class T, class Last>
  [[gnu::always_inline]] static void for_each(const T* in, std::int64_t begin, std::int64_t end,
                                              const Last& last) {
    if constexpr (!std::is_same_v<T, float>)
      for_coarse_gelus(
          begin, end, [=](std::int64_t i, auto lanes) { return lanes.stream(in + i); }, last);
    else
      for_vectors(begin, end,
                  [=](std::int64_t i, auto lanes) { last(i, of(lanes.stream(in + i)), lanes); });
  }
};

/// GELU by the error function: x times the normal distribution at x.
struct ErfGelu {
  [[gnu::always_inline]] static ValueAndSlope<FloatVector> of(FloatVector x) {
    constexpr float density = 0.3989422804014327F;  // 1 / sqrt(2 pi), of the distribution at 0
    const NormalTail normal = normal_tail(x);
    const FloatVector below = x < 0.0F ? normal.tail : 1.0F - normal.tail;
    return {x * below, multiply_add(x * density, normal.exponential, below)};
  }
  /// As TanhGelu::for_each.
  template <class T, class Last>
  [[gnu::always_inline]] static void for_each(const T* in, std::int64_t begin, std::int64_t end,
                                              const Last& last) {
    for_vectors(begin, end,
                [=](std::int64_t i, auto lanes) { last(i, of(lanes.stream(in + i)), lanes); });
  }
};

/// body(TanhGelu{}) or body(ErfGelu{}).
template <class Body>
void with_gelu(Gelu kind, const Body& body) {
  kind == Gelu::erf ? body(ErfGelu{}) : body(TanhGelu{});
}

}  // namespace triax
