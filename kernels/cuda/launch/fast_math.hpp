#pragma once
// Exponentials and reciprocals in one instruction of the GPU. A kernel that is to be as fast as
// memory has some 20 instructions for an element of 16 bits; the exact functions take about ten.
#include <cmath>

#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

inline constexpr float log2_e = 1.4426950408889634F;

#ifdef __CUDACC__

/// 2^x to 2 units in the last place; zero where that has no normal number.
TRIAX_DEVICE inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// a b, rounded wherever it is added to: what is made twice is to be the same number.
TRIAX_DEVICE inline float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
/// 1 / x to 1 unit in the last place; zero where that has no normal number.
TRIAX_DEVICE inline float fast_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
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

#endif

/// e^x, with an error of |x| + 2 units in the last place at most.
TRIAX_DEVICE inline float fast_exp(float x) {
  return fast_exp2(x * log2_e);
}

}  // namespace triax::cuda
