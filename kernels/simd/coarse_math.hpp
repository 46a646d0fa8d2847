#pragma once
// Exponentials and sigmoids of groups of vectors where results are rounded to 16 bits: to a few
// parts in a hundred thousand, in about half the instructions of vector_math.hpp. The same bits on
// every kind of processor.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/simd/vector_group.hpp"

namespace triax {

/// A number as two factors: fraction x power.
template <int n>
struct CoarseExponential {
  VectorGroup<n> fraction;
  VectorGroup<n> power;  // of 2: 2^(i/8)
};

/// Exponents of 2 that kernels stay within: with a factor or two the results are normal numbers,
/// which subnormal ones would be slower than. So what should vanish is 2^-100 instead: seen only
/// beside factors of 10^9 and more (silu of x is x 2^-100 from -69 down, without bound).
inline constexpr float coarse_limit = 100.0F;

/// factor 2^t for t in [-126, 127], to 4e-6 and what t itself is off: for results that are rounded
/// to 16 bits.
template <int n>
[[gnu::always_inline]] inline CoarseExponential<n> coarse_exp2(const VectorGroup<n>& t,
                                                               float factor = 1.0F) {
  const VectorGroup<n> shifted = t + detail::round_to_eighth;
  const VectorGroup<n> f = t - (shifted - detail::round_to_eighth);
  // The polynomial of degree 2 with the least largest error over +-1/16: 3.5e-6.
  const VectorGroup<n> slope = multiply_add(f, factor * 0.2402259F, factor * 0.6933089F);
  return {multiply_add(slope, f, factor),
          detail::each([](FloatVector v) { return detail::power_of_two(v); }, shifted)};
}

/// 1 / x for x in [1, 2^126], to 5.2e-5: a quotient takes as long as six products.
template <int n>
[[gnu::always_inline]] inline VectorGroup<n> coarse_reciprocal(const VectorGroup<n>& x) {
  // 2 - x for x in [1, 2), and so on for every power of two: its bits are those of 1 less x's.
  // Times x that is between 1 and 9/8, whose reciprocal is a polynomial.
  const VectorGroup<n> guess = detail::each(
      [](FloatVector v) {
        const WordVector twice_one = WordVector{} + 2U * std::bit_cast<std::uint32_t>(1.0F);
        return detail::same_bits<FloatVector>(twice_one - detail::same_bits<WordVector>(v));
      },
      x);
  const VectorGroup<n> y = x * guess;
  return guess * multiply_add(multiply_add(y, 0.83587573F, -2.66435386F), y, 2.82842712F);
}

/// What a sigmoid of x is made of: 1 / (1 + 2^exponent).
template <int n>
struct SigmoidArgument {
  VectorGroup<n> x;
  VectorGroup<n> exponent;
};

/// A sigmoid of x before its quotient, which is left to who needs it.
template <int n>
struct CoarseSigmoid {
  VectorGroup<n> x;
  VectorGroup<n> denominator;  // 1 + 2^exponent

  [[gnu::always_inline]] VectorGroup<n> value() const { return coarse_reciprocal(denominator); }
  /// 1 - value, without cancellation.
  [[gnu::always_inline]] VectorGroup<n> rest(const VectorGroup<n>& value) const {
    return (denominator - 1.0F) * value;
  }
};

/// For all elements from begin to end: last(i, sigmoid, lanes) with that of argument(i, lanes).
template <class Argument, class Last>
[[gnu::always_inline]] inline void for_coarse_sigmoids(std::int64_t begin, std::int64_t end,
                                                       const Argument& argument, const Last& last) {
  constexpr int together = 2;
  const auto second = []<int n>(const SigmoidArgument<n>& of) -> CoarseSigmoid<n> {
    const CoarseExponential<n> e = coarse_exp2(within(coarse_limit, of.exponent));
    return {of.x, multiply_add(e.fraction, e.power, 1.0F)};
  };
  for_staged_vectors<together>(begin, end, argument, second, last);
}

/// The sum over n elements of 2^t, where exponents(i, lanes) gives a group of t from element i on:
/// in the order of vector_sum.
template <class Exponents>
[[gnu::always_inline]] inline float sum_of_powers(std::int64_t n, const Exponents& exponents) {
  VectorGroup<detail::sum_vectors> sums{};
  const auto powers = [](const auto& t) { return coarse_exp2(t); };
  const std::int64_t rest = for_staged_groups<detail::sum_vectors>(
      0, n, exponents, powers,
      [&](std::int64_t, const auto& e, auto) { sums = multiply_add(e.fraction, e.power, sums); });
  detail::LaneSums<> lane_sums;
  std::copy_n(sums.part, detail::sum_vectors, lane_sums.vectors);
  FloatVector* sum = lane_sums.vectors;
  for_vectors(rest, n, [&](std::int64_t i, auto lanes) {
    const auto e = coarse_exp2(exponents(i, SingleLanes<decltype(lanes)>{lanes}));
    // Of lanes without an element neither factor need be finite.
    *sum =
        multiply_add(lanes.only(e.fraction.part[0], 0.0F), lanes.only(e.power.part[0], 0.0F), *sum);
    ++sum;
  });
  return lane_sums.total();
}

}  // namespace triax
