// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exponentials and reciprocals in one GPU instruction, accurate to a few units in the last place. A
// kernel limited by memory has time for some 20 instructions per 16-bit element; the exact
// functions take about ten each. GELU, SwiGLU and the classifier would wait for them.
#include <cmath>

#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

inline constexpr float log2_e = 1.4426950408889634F;

#ifdef __CUDACC__

/// 2^x to 2 units in the last place. Subnormal results are zero.
TRIAX_DEVICE inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// a b, rounded before any addition (never fused), so that recomputed values have the same bits.
TRIAX_DEVICE inline float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
/// 1 / x to 1 unit in the last place. Subnormal results are zero.
TRIAX_DEVICE inline float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Distribution function of the normal distribution, with an error of at most 5 units in the last
/// place.
TRIAX_DEVICE inline float normal_distribution(float x) {
  return normcdff(x);
}

#else

inline float fast_exp2(float x) {
  return std::exp2(x);
}
inline float rounded_product(float a, float b) {
  return a * b;
}
inline float fast_reciprocal(float x) {
  return 1.0F / x;
}
inline float normal_distribution(float x) {
  return static_cast<float>(0.5 * std::erfc(-0.70710678118654752 * static_cast<double>(x)));
}

#endif

/// e^x with an error of at most |x| + 2 units in the last place.
TRIAX_DEVICE inline float fast_exp(float x) {
  return fast_exp2(x * log2_e);
}

}  // namespace triax::cuda
