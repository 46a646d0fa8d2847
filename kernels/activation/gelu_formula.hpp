// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of one element of GELU and SiLU, shared by the host loops and the device kernels.
// Callers pass exponentials, since each side has its own. V is float or, on the host, a vector of
// floats.

namespace triax {

// GELU is 0.5 x (1 + tanh u) with u = slope (x + cubic x^3). It is computed as x sigmoid(2 u): one
// exponential, and no cancellation for negative x. 2 u = x (linear + cubic x^2).
inline constexpr float gelu_linear = 2.0F * 0.7978845608028654F;  // 2 sqrt(2 / pi)
inline constexpr float gelu_cubic = 0.044715F * gelu_linear;

template <class V>
struct GeluSigmoid {
  V value;
  V derivative;
};

/// 2 u for x.
template <class V>
constexpr V gelu_argument(V x) {
  return x * (gelu_linear + gelu_cubic * (x * x));
}

/// sigmoid(2 u) and its derivative, from e = exp(-2 u), which may be infinite, and value = 1 / (1 +
/// e).
template <class V>
constexpr GeluSigmoid<V> gelu_sigmoid(V e, V value) {
  const V one = V{} + 1.0F;
  const V rest = e * value;  // 1 - value without cancellation; NaN if e is infinite
  return {value, value * (rest < one ? rest : one)};
}

template <class V>
constexpr GeluSigmoid<V> gelu_sigmoid(V e) {
  const V one = V{} + 1.0F;
  return gelu_sigmoid(e, one / (one + e));
}

/// Derivative of 2 u by x.
template <class V>
constexpr V gelu_argument_slope(V x) {
  return gelu_linear + 3.0F * gelu_cubic * (x * x);
}

/// sigmoid(x) from e = exp(-x), which may be infinite.
template <class V>
constexpr V sigmoid_from(V e) {
  return 1.0F / (1.0F + e);
}

}  // namespace triax
