// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activation functions of one element, for kernels that apply them alone or to the gate of an MLP:
// value(x), and at(x) with the derivative.
#include "kernels/activation/gelu_formula.hpp"
#include "kernels/cuda/launch/fast_math.hpp"

namespace triax::cuda {

struct ValueAndSlope {
  float value;
  float slope;
};

/// x sigmoid(x)
struct Silu {
  TRIAX_DEVICE static float sigmoid(float x) { return fast_reciprocal(1.0F + fast_exp(-x)); }
  TRIAX_DEVICE static float value(float x) { return x * sigmoid(x); }
  TRIAX_DEVICE static ValueAndSlope at(float x) {
    const float s = sigmoid(x);
    const float silu = x * s;
    return {silu, s + silu * (1.0F - s)};
  }
};

/// GELU, tanh approximation
struct TanhGelu {
  TRIAX_DEVICE static GeluSigmoid<float> sigmoid(float x) {
    const float e = fast_exp(-gelu_argument(x));
    return gelu_sigmoid(e, fast_reciprocal(1.0F + e));
  }
  TRIAX_DEVICE static float value(float x) { return x * sigmoid(x).value; }
  TRIAX_DEVICE static ValueAndSlope at(float x) {
    const GeluSigmoid<float> s = sigmoid(x);
    return {x * s.value, s.value + x * gelu_argument_slope(x) * s.derivative};
  }
};

/// GELU: x times the distribution function. 1 + erf(x / sqrt(2)) would cancel for negative x.
struct ErfGelu {
  TRIAX_DEVICE static float value(float x) { return x * normal_distribution(x); }
  TRIAX_DEVICE static ValueAndSlope at(float x) {
    const float p = normal_distribution(x);
    const float density = 0.39894228F * fast_exp(-0.5F * x * x);  // 1 / sqrt(2 pi)
    return {x * p, p + x * density};
  }
};

}  // namespace triax::cuda
