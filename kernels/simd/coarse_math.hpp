// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exponentials and sigmoids of vector groups for results that are rounded to 16 bits. Relative
// errors are at most 5e-5; rounding itself is 75 times that in bf16 and 9 times in half precision.
// They take about half the instructions of vector_math.hpp and give the same bits on every ISA
// level.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/simd/vector_group.hpp"

namespace triax {

/// A number as two factors: fraction * power.
template <int n>
struct CoarseExponential {
  VectorGroup<n> fraction;
  VectorGroup<n> power;  // a power of 2: 2^(i/8)
};

/// Bound of exponents of 2 in kernels. It keeps results normal after one or two more factors, since
/// subnormal numbers are slow. A result that should vanish is 2^-100 instead, which shows only
/// beside factors of 1e9 and more (silu(x) is x 2^-100 from -69 down, without bound).
inline constexpr float coarse_limit = 100.0F;

/// factor * 2^t for t in [-126, 127], with a relative error of 4e-6 plus that of t.
template <int n>
[[gnu::always_inline]] inline CoarseExponential<n> coarse_exp2(const VectorGroup<n>& t,
                                                               float factor = 1.0F) {
  const VectorGroup<n> shifted = t + detail::round_to_eighth;
  const VectorGroup<n> f = t - (shifted - detail::round_to_eighth);
  // The minimax polynomial of degree 2 on [-1/16, 1/16]; its error is 3.5e-6.
  const VectorGroup<n> slope = multiply_add(f, factor * 0.2402259F, factor * 0.6933089F);
  return {multiply_add(slope, f, factor),
          detail::each([](FloatVector v) { return detail::power_of_two(v); }, shifted)};
}

/// 1 / x for x in [1, 2^126], with an error of 5.2e-5. A division takes as long as six products.
template <int n>
[[gnu::always_inline]] inline VectorGroup<n> coarse_reciprocal(const VectorGroup<n>& x) {
  // The guess is (3 - x) / 2 for x in [1, 2), and so on for every power of two: its bits are twice
  // those of 1 minus those of x. x * guess lies in [1, 9/8]; a polynomial gives its reciprocal.
  const VectorGroup<n> guess = detail::each(
      [](FloatVector v) {
        const WordVector twice_one = WordVector{} + 2U * std::bit_cast<std::uint32_t>(1.0F);
        return detail::same_bits<FloatVector>(twice_one - detail::same_bits<WordVector>(v));
      },
      x);
  const VectorGroup<n> y = x * guess;
  return guess * multiply_add(multiply_add(y, 0.83587573F, -2.66435386F), y, 2.82842712F);
}

/// Argument of a sigmoid: sigmoid = 1 / (1 + 2^exponent). `x` is passed on.
template <int n>
struct SigmoidArgument {
  VectorGroup<n> x;
  VectorGroup<n> exponent;
};

/// A sigmoid before its division, which the consumer does if it needs the value.
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

/// For all elements from begin to end: last(i, sigmoid, lanes) with the sigmoid of argument(i,
/// lanes).
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

/// Sum over n elements of 2^t, where exponents(i, lanes) gives the group of t from element i on.
/// Adds in the order of vector_sum.
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
    // Lanes without an element may hold factors that are not finite.
    *sum =
        multiply_add(lanes.only(e.fraction.part[0], 0.0F), lanes.only(e.power.part[0], 0.0F), *sum);
    ++sum;
  });
  return lane_sums.total();
}

}  // namespace triax
