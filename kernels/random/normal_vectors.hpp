// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normal numbers from random words in the host's vector registers. They equal box_muller
// (box_muller.hpp) to 1e-14 in double: one float in some millions rounds differently from the
// device's. The same bits on every ISA level.
#include <cstdint>
#include <numbers>

#include "kernels/simd/simd_double.hpp"

namespace triax {
namespace detail {

// Converts integers in [-2^51, 2^51), two's complement.
inline DoubleVector to_double(LongVector whole) {
  constexpr double shift = 0x1.8p52;  // a double this large has no fraction
  const LongVector bits = same_bits<LongVector>(DoubleVector{} + shift) + whole;
  return same_bits<DoubleVector>(bits) - shift;
}

// c[0] + c[1] x + c[2] x^2 + ...
template <int count>
inline DoubleVector polynomial(DoubleVector x, const double (&c)[count]) {
  DoubleVector sum = DoubleVector{} + c[count - 1];
#pragma GCC unroll 16
  for (int i = count - 2; i >= 0; --i) sum = multiply_add(sum, x, DoubleVector{} + c[i]);
  return sum;
}

// Natural logarithm of x * 2^shift for x in [1, 2^51]: x = 2^e m with m within a factor of sqrt(2)
// of 1, and ln m by the series of atanh.
inline DoubleVector logarithm(DoubleVector x, int shift) {
  constexpr double atanh_series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                     1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};
  constexpr int mantissa_bits = 52;
  const LongVector bits = same_bits<LongVector>(x);
  const LongVector least = same_bits<LongVector>(DoubleVector{} + 1.0 / std::numbers::sqrt2);
  const LongVector exponent = (bits - least) >> mantissa_bits;
  const auto m = same_bits<DoubleVector>(bits - (exponent << mantissa_bits));
  const DoubleVector s = (m - 1.0) / (m + 1.0);
  const DoubleVector of_m = 2.0 * s * polynomial(s * s, atanh_series);
  return multiply_add(to_double(exponent) + static_cast<double>(shift),
                      DoubleVector{} + std::numbers::ln2, of_m);
}

struct SineCosine {
  DoubleVector sine, cosine;
};

// Sine and cosine of 2 pi turn / 2^32 for turn in [0, 2^32), by the series around the nearest
// quarter turn.
inline SineCosine sine_cosine(LongVector turn) {
  constexpr double sine_series[] = {
      1.0,          -1.0 / 6,        1.0 / 120,        -1.0 / 5040,
      1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000};
  constexpr double cosine_series[] = {1.0,
                                      -1.0 / 2,
                                      1.0 / 24,
                                      -1.0 / 720,
                                      1.0 / 40320,
                                      -1.0 / 3628800,
                                      1.0 / 479001600,
                                      -1.0 / 87178291200,
                                      1.0 / 20922789888000};
  const LongVector quarter = (turn + (1U << 29U)) >> 30U;
  const DoubleVector t = to_double(turn - (quarter << 30U)) * (0x1p-32 * 2.0 * std::numbers::pi);
  const DoubleVector square = t * t;
  const DoubleVector sine = t * polynomial(square, sine_series);
  const DoubleVector cosine = polynomial(square, cosine_series);
  const auto odd = (quarter & 1U) != 0;
  // The sine is negative in the last two quarters, the cosine in the middle two.
  const LongVector sine_sign = (quarter & 2U) << 62U, cosine_sign = ((quarter + 1U) & 2U) << 62U;
  const auto with_sign = [](DoubleVector v, LongVector sign) {
    return same_bits<DoubleVector>(same_bits<LongVector>(v) ^ sign);
  };
  return {with_sign(odd ? cosine : sine, sine_sign), with_sign(odd ? sine : cosine, cosine_sign)};
}

template <int... Lane>
FloatVector interleaved(DoubleVector even, DoubleVector odd, std::integer_sequence<int, Lane...>) {
  const auto a = __builtin_convertvector(even, HalfFloatVector);
  const auto b = __builtin_convertvector(odd, HalfFloatVector);
  return __builtin_shufflevector(a, b, (Lane / 2 + Lane % 2 * vector_longs)...);
}

}  // namespace detail

/// Standard normal numbers, one per word: words 2 j and 2 j + 1 make numbers 2 j and 2 j + 1.
inline FloatVector normal_numbers(WordVector words) {
  using namespace detail;
  const auto pairs = same_bits<LongVector>(words);  // the first word of each pair in the lower half
  const DoubleVector x = to_double(pairs & 0xffffffffU) + 0.5;
  const DoubleVector radius = square_root(-2.0 * logarithm(4.0 * x, -34));
  const SineCosine of = sine_cosine(pairs >> 32U);
  return interleaved(radius * of.cosine, radius * of.sine,
                     std::make_integer_sequence<int, vector_floats>{});
}

}  // namespace triax
