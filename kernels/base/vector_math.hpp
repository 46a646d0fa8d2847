#pragma once
// exp and tanh in float32, free of branches, of one float (put `#pragma omp simd` before a loop,
// and the compiler makes vector code of it) or of a vector of them, which gives the same bits.
// Their relative errors stay below 1e-7 and 1.5e-7. Infinities, NaN, overflow and gradual underflow
// come out as from the standard library.
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/base/simd.hpp"

namespace triax {
namespace detail {

inline constexpr float round_to_integer = 0x1.8p23F;  // a float this large has no fraction bits

inline float multiply_add(float a, float b, float c) {
  return std::fma(a, b, c);
}
// One instruction: compilers make it of a product and a sum only where they optimise.
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

// p 2^n where x is not so low that e^x vanishes, else 0; shifted is n + round_to_integer. By two
// factors, since n leaves the range of one exponent where the result is subnormal or infinite.
// Selected and not left to underflow, which is slow.
template <class Words, class Integers, class V>
V scaled_by_factors(V p, V shifted, V x, V zero_to) {
  const auto exponent = same_bits<Integers>(same_bits<Words>(shifted) -
                                            std::bit_cast<std::uint32_t>(round_to_integer));
  const Integers half = exponent >> 1;
  const auto power_of_two = [](Integers e) {
    return same_bits<V>((same_bits<Words>(e) + 127U) << 23U);
  };
  return x < zero_to ? V{} : p * power_of_two(half) * power_of_two(exponent - half);
}
inline float scaled(float p, float shifted, float, float x, float zero_to) {
  return scaled_by_factors<std::uint32_t, std::int32_t>(p, shifted, x, zero_to);
}
inline FloatVector scaled(FloatVector p, [[maybe_unused]] FloatVector shifted,
                          [[maybe_unused]] FloatVector n, FloatVector x, FloatVector zero_to) {
#ifdef __AVX512F__
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, zero_to, _CMP_NLT_UQ), p, n);
#else
  return scaled_by_factors<WordVector, LaneVector>(p, shifted, x, zero_to);
#endif
}

}  // namespace detail

/// e^x of a float or a vector that nowhere exceeds 89. Cody-Waite reduction x = n ln 2 + r with
/// |r| <= ln 2 / 2, then a minimax polynomial in r.
template <class V>
inline V fast_exp_up_to_89(V x) {
  using detail::multiply_add;
  const V zero{};  // and plus a number: that number in every lane
  const V shifted = multiply_add(x, zero + 0x1.715476p+0F, zero + detail::round_to_integer);
  const V n = shifted - detail::round_to_integer;
  // ln 2 in two parts: n times the first is exact for these n.
  const V r = multiply_add(n, zero - 0x1.7f7d1cp-20F, multiply_add(n, zero - 0x1.62e4p-1F, x));
  V q = zero + 0.00138202973F;
  q = multiply_add(q, r, zero + 0.00836750679F);
  q = multiply_add(q, r, zero + 0.0416681692F);
  q = multiply_add(q, r, zero + 0.166665331F);
  q = multiply_add(q, r, zero + 0.49999994F);
  const V p = 1.0F + multiply_add(r * r, q, r);
  return detail::scaled(p, shifted, n, x, zero - 104.0F);  // the true bound lies closer to zero
}

/// e^x of a float or a vector.
template <class V>
inline V fast_exp(V x) {
  return fast_exp_up_to_89(smaller(V{} + 89.0F, x));  // infinite, as beyond; NaN stays
}

/// tanh x: an odd polynomial near zero (where 1 - 2/(e^2x + 1) would cancel), the exponential
/// beyond.
inline float fast_tanh(float x) {
  const float a = std::fabs(x);
  const float u = a * a;
  float t = -0.00571704423F;
  t = std::fma(t, u, 0.0206505861F);
  t = std::fma(t, u, -0.0537434965F);
  t = std::fma(t, u, 0.133314908F);
  t = std::fma(t, u, -0.333332837F);
  const float near_zero = std::fma(a * u, t, a);
  const float beyond = 1.0F - 2.0F / (fast_exp(2.0F * a) + 1.0F);
  return std::copysign(a < 0.625F ? near_zero : beyond, x);
}

}  // namespace triax
