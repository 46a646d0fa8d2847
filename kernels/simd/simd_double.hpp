// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vector registers of doubles. One register of floats (simd.hpp) widens to two of them.
#include "kernels/simd/simd.hpp"

namespace triax {

using DoubleVector [[gnu::vector_size(vector_bytes)]] = double;

namespace detail {

using HalfFloatVector [[gnu::vector_size(vector_bytes / 2)]] = float;

template <int First, int... Lane>
DoubleVector widened_half(FloatVector v, std::integer_sequence<int, Lane...>) {
  const HalfFloatVector half = __builtin_shufflevector(v, v, (First + Lane)...);
#ifdef __AVX512F__
  return _mm512_maskz_cvtps_pd(0xff, half);
#else
  return __builtin_convertvector(half, DoubleVector);
#endif
}

}  // namespace detail

inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__FP_FAST_FMA)
  for (int lane = 0; lane < vector_floats / 2; ++lane)
    c[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
  return c;
#else
  return a * b + c;
#endif
}

inline DoubleVector square_root(DoubleVector v) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, v);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(v);
#else
  for (int lane = 0; lane < vector_floats / 2; ++lane) v[lane] = std::sqrt(v[lane]);
  return v;
#endif
}

/// The lower and the upper half of the lanes, widened to double.
inline DoubleVector lower_half(FloatVector v) {
  return detail::widened_half<0>(v, std::make_integer_sequence<int, vector_floats / 2>{});
}
inline DoubleVector upper_half(FloatVector v) {
  return detail::widened_half<vector_floats / 2>(
      v, std::make_integer_sequence<int, vector_floats / 2>{});
}

}  // namespace triax
