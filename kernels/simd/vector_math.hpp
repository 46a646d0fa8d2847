// SPDX-License-Identifier: Apache-2.0
#pragma once
// exp, tanh and the normal distribution in float32 without branches, of a float or a vector; both
// give the same bits. Put `#pragma omp simd` before a loop over floats, and the compiler vectorises
// it. Relative errors are below 2e-7 where nothing else is said. Infinities and NaN come out as
// from the standard library.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/simd/simd.hpp"

namespace triax {
namespace detail {

// 2^(i/8), repeated so that a vector register of any width holds all eight.
struct Eighths {
  alignas(vector_bytes) float powers[16] = {0x1p+0F,        0x1.172b84p+0F, 0x1.306fe0p+0F,
                                            0x1.4bfdaep+0F, 0x1.6a09e6p+0F, 0x1.8ace54p+0F,
                                            0x1.ae89fap+0F, 0x1.d5818ep+0F};
  // Bits of powers[i] minus i * 2^20. Adding the bits of a multiple n of 1/8, shifted so that its
  // whole part meets the exponent, gives the bits of 2^n.
  alignas(vector_bytes) std::uint32_t bits[16] = {};

  constexpr Eighths() {
    for (std::uint32_t i = 0; i < 16; ++i) {
      powers[i] = powers[i % 8];
      bits[i] = std::bit_cast<std::uint32_t>(powers[i]) - (i % 8 << 20U);
    }
  }
};
inline constexpr Eighths eighths;
inline constexpr float round_to_eighth = 0x1.8p20F;  // floats of this size are multiples of 1/8

// n + round_to_eighth, where n is the multiple of 1/8 nearest to x / ln 2.
template <class V>
inline V shifted_exponent(V x) {
  const V zero{};  // zero + c broadcasts c to every lane
  return multiply_add(x, zero + 0x1.715476p+0F, zero + round_to_eighth);
}
// x - n ln 2, with ln 2 rounded to float32; the result is n * 2e-9 too low.
template <class V>
inline V remainder_of(V x, V n) {
  return multiply_add(n, V{} - 0x1.62e43p-1F, x);
}
// e^r for |r| <= ln 2 / 16, with an error of 3e-8 before rounding.
template <class V>
inline V exp_near_zero(V r) {
  const V zero{};
  const V q = multiply_add(zero + 0.16666667F, r, zero + 0.500064778F);
  return multiply_add(multiply_add(q, r, zero + 1.0F), r, zero + 1.0F);
}

inline float fraction_power(float shifted) {
  return eighths.powers[std::bit_cast<std::uint32_t>(shifted) % 8];
}
inline FloatVector fraction_power(FloatVector shifted) {
  return lookup(load(eighths.powers), same_bits<WordVector>(shifted));
}

// 2^n, given n + round_to_eighth, for n below 128; 0 for n = -127.
inline float power_of_two(float shifted) {
  const auto word = std::bit_cast<std::uint32_t>(shifted);
  return std::bit_cast<float>(eighths.bits[word % 8] + (word << 20U));
}
inline FloatVector power_of_two(FloatVector shifted) {
  const auto word = same_bits<WordVector>(shifted);
  const auto table = same_bits<FloatVector>(load_words(eighths.bits));
  return same_bits<FloatVector>(same_bits<WordVector>(lookup(table, word)) + (word << 20U));
}

// p * 2^floor(n), or 0 for x < zero_to, where e^x vanishes; shifted is n + round_to_eighth. Two
// factors are needed because n exceeds the range of one exponent where the result is subnormal or
// infinite. The zero is selected because underflow is slow.
template <class Words, class Integers, class V>
V scaled_by_factors(V p, V shifted, V x, V zero_to) {
  const auto eighths_of_n = same_bits<Integers>(same_bits<Words>(shifted) -
                                                std::bit_cast<std::uint32_t>(round_to_eighth));
  const Integers exponent = eighths_of_n >> 3;
  const Integers half = exponent >> 1;
  const auto power = [](Integers e) { return same_bits<V>((same_bits<Words>(e) + 127U) << 23U); };
  return x < zero_to ? V{} : p * power(half) * power(exponent - half);
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

/// e^x of a float or a vector for x <= 88.75, fast. Results that would be subnormal are zero or
/// smaller than normal numbers; the result is infinite above 88.68. The relative error grows to
/// 4e-7 far from zero.
template <class V>
inline V fast_exp_flushed(V x) {
  const V low = larger(V{} - 88.03F, x);  // 2^n becomes zero here; NaN stays
  const V shifted = detail::shifted_exponent(low);
  const V r = detail::remainder_of(low, shifted - detail::round_to_eighth);
  return detail::power_of_two(shifted) * detail::exp_near_zero(r);
}

/// e^-x of a float or a vector, fast, by fast_exp_flushed(-x); infinite for x below -88.68.
template <class V>
inline V exp_of_minus(V x) {
  return fast_exp_flushed(smaller(V{} + 88.75F, -x));
}

/// e^x of a float or a vector, with gradual underflow.
template <class V>
inline V fast_exp(V x) {
  constexpr float rest_of_ln2 = -1.904654300e-9F;
  const V low = smaller(V{} + 89.0F, x);  // infinite from here on; NaN stays
  const V shifted = detail::shifted_exponent(low);
  const V n = shifted - detail::round_to_eighth;
  const V r = multiply_add(n, V{} - rest_of_ln2, detail::remainder_of(low, n));
  const V p = detail::fraction_power(shifted) * detail::exp_near_zero(r);
  return detail::scaled(p, shifted, n, low, V{} - 104.0F);  // e^x rounds to zero just above this
}

namespace detail {

/// c[0] + c[1] x + c[2] x^2 + ...
template <class V, std::size_t n>
[[gnu::always_inline]] inline V polynomial(const float (&c)[n], V x) {
  V sum = V{} + c[n - 1];
#pragma GCC unroll 16
  for (std::size_t i = n - 1; i > 0; --i) sum = multiply_add(sum, x, V{} + c[i - 1]);
  return sum;
}

// tanh(x) = x + x^3 q(x^2) for |x| <= tanh_small. Relative error 3e-9; beyond, 1 - tanh loses less
// than one bit.
inline constexpr float tanh_small = 0.6F;
inline constexpr float tanh_near_zero[] = {-0.33333298F, 0.133319241F, -0.0537838303F,
                                           0.0207959718F, -0.0058951582F};

// Tail of the normal distribution: e^(-a^2 / 2) u p(u - 1/2) with u = 3.5 / (a + 3.5), for a in
// [0, 14.5]. Fitted to the least relative error, 7e-9.
inline constexpr float normal_fold = 3.5F, normal_end = 14.5F;
inline constexpr float normal_ratio[] = {
    0.212690307F,   0.32317814F,    0.36048577F,   0.265264093F,  0.0795720143F,
    -0.0593656297F, -0.0580628032F, 0.0181007687F, 0.0308587022F, -0.0161921053F};

}  // namespace detail

/// A function and its derivative.
template <class V>
struct ValueAndSlope {
  V value, slope;
};

/// tanh(x) of a float or a vector, with a relative error below 3e-7, and 1 - tanh(x)^2 without
/// cancellation, below 6e-7.
template <class V>
inline ValueAndSlope<V> tanh_and_slope(V x) {
  const V one = V{} + 1.0F;
  const V e = fast_exp_flushed(-2.0F * larger(x, -x));
  const V r = one / (one + e);
  const V square = x * x;
  const V near_zero =
      multiply_add(x * square, detail::polynomial(detail::tanh_near_zero, square), x);
  const V far = one - 2.0F * e * r;  // of |x|
  const V signed_far = x < V{} ? -far : far;
  return {square <= V{} + detail::tanh_small * detail::tanh_small ? near_zero : signed_far,
          4.0F * e * (r * r)};
}

/// tanh(x) alone.
template <class V>
inline V fast_tanh(V x) {
  return tanh_and_slope(x).value;
}

/// Lower tail of the standard normal distribution at -|x|, and e^(-x^2 / 2).
template <class V>
struct NormalTail {
  V tail, exponential;
};

/// The tail of a float or a vector keeps its relative precision, 5e-7, as long as it is a normal
/// number. It is zero for |x| above 14.5.
template <class V>
inline NormalTail<V> normal_tail(V x) {
  const V a = smaller(V{} + detail::normal_end, larger(x, -x));  // NaN stays
  const V half = -0.5F * a;
  const V exponent = half * a;
  const V rest = multiply_add(half, a, -exponent);  // what the product's rounding lost
  const V e = fast_exp(exponent);
  const V exponential = multiply_add(e, rest, e);
  const V u = detail::normal_fold / (a + detail::normal_fold);
  return {exponential * (u * detail::polynomial(detail::normal_ratio, u - 0.5F)), exponential};
}

}  // namespace triax
