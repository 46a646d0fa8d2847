// SPDX-License-Identifier: Apache-2.0
#pragma once
// GELU and its derivative for results that are rounded to 16 bits, by a table of polynomials. Where
// a register holds the table (AVX-512), this takes fewer instructions than a sigmoid. The same bits
// on every ISA level.
#include "kernels/simd/vector_group.hpp"

namespace triax {
namespace detail {

// Shortfall r of GELU: gelu(x) = max(x, 0) - r(|x|) with r(z) = z / (1 + exp(2 u)) and 2 u = z
// (linear + cubic z^2). In each of sixteen pieces around the multiples of `step`, r is a polynomial
// of degree 4 in the distance to that multiple, fitted by least squares to the relative errors of r
// and r' together. It begins exactly as z / 2; at `end` both r and r' are 0. Errors: 8e-7 in r,
// relatively 1e-4 up to z = 4 and absolutely 3e-8 beyond; 4e-5 in r'.
struct GeluShortfall {
  static constexpr float step = 0.34375F, end = 5.3125F;
  static constexpr int degree = 4;
  // Row i: the coefficients of distance^i in each piece.
  alignas(64) static constexpr float coefficients[degree + 1][16] = {
      {0.0F, 0.125650704F, 0.169096947F, 0.156100959F, 0.116511457F, 0.0737353712F, 0.0402318053F,
       0.018990675F, 0.00772315543F, 0.00268172566F, 0.00078541087F, 0.000191286381F,
       3.81520476e-05F, 6.13277734e-06F, 7.81642598e-07F, 8.82474112e-08F},
      {0.5F, 0.23630324F, 0.0295941029F, -0.0901738033F, -0.128593117F, -0.114346817F,
       -0.079366155F, -0.0455273204F, -0.0219495948F, -0.00889858883F, -0.00301056192F,
       -0.000839914428F, -0.000190524137F, -3.46075321e-05F, -4.95424274e-06F, -5.49929496e-07F},
      {-0.39894709F, -0.353626698F, -0.240157217F, -0.109949939F, -0.00932171661F, 0.0426914804F,
       0.0537078977F, 0.0426199697F, 0.026030995F, 0.0128347492F, 0.00516006257F, 0.00168467441F,
       0.000442147604F, 9.20897583e-05F, 1.49975049e-05F, -1.37102484e-06F},
      {0.000132574118F, 0.0831149444F, 0.126225963F, 0.11688669F, 0.0744716153F, 0.0281919912F,
       -0.00285947206F, -0.0153029095F, -0.0151611194F, -0.0100810481F, -0.00510703027F,
       -0.00202978728F, -0.000634799537F, -0.000155198737F, -2.93727971e-05F, -7.40966289e-06F},
      {0.0659132451F, 0.0489202477F, 0.0101099871F, -0.0218394753F, -0.0356294736F, -0.0293245483F,
       -0.015200817F, -0.00326829427F, 0.00282646948F, 0.00404785527F, 0.0029252884F,
       0.00148239988F, 0.000560482149F, 0.000160486379F, 3.51145136e-05F, 9.96851522e-05F},
  };
};

// Coefficient of distance^power for each lane's piece; the piece's number is in the lane's lowest
// bits.
template <int power, int n>
[[gnu::always_inline]] inline VectorGroup<n> shortfall_coefficient(const VectorGroup<n>& piece) {
  const TableOf16 table = table_of_16(GeluShortfall::coefficients[power]);
  return each([&](FloatVector at) { return lookup(table, same_bits<WordVector>(at)); }, piece);
}

// The piece that |x| lies in.
template <int n>
struct GeluPiece {
  VectorGroup<n> x;
  VectorGroup<n> z;       // min(|x|, end)
  VectorGroup<n> number;  // of the piece, in the lowest bits

  [[gnu::always_inline]] explicit GeluPiece(const VectorGroup<n>& of)
      : x(of),
        z(magnitude_within(GeluShortfall::end, x)),
        number(multiply_add(z, 1.0F / GeluShortfall::step, round_to_one)) {}
  static constexpr float round_to_one = 0x1.8p23F;  // floats of this size are integers
};

// The polynomial's distance and first two steps.
template <int n>
struct BegunGelu {
  VectorGroup<n> x, number;
  VectorGroup<n> distance;
  VectorGroup<n> first, second;  // Horner steps, from degree 4

  [[gnu::always_inline]] explicit BegunGelu(const GeluPiece<n>& of)
      : x(of.x),
        number(of.number),
        distance(multiply_add(number - GeluPiece<n>::round_to_one, -GeluShortfall::step, of.z)),
        first(shortfall_coefficient<4>(number)),
        second(multiply_add(first, distance, shortfall_coefficient<3>(number))) {}
};

}  // namespace detail

template <int n>
struct CoarseGelu {
  VectorGroup<n> value, slope;
};

/// GELU (tanh approximation) of x and its derivative, with errors of 8e-7 and 4e-5. NaN if x is
/// NaN. At minus infinity both are zero within these errors, whereas the float32 path gives NaN.
template <int n>
[[gnu::always_inline]] inline CoarseGelu<n> coarse_gelu(const detail::BegunGelu<n>& of) {
  using detail::shortfall_coefficient;
  const VectorGroup<n>& f = of.distance;
  const VectorGroup<n> third = multiply_add(of.second, f, shortfall_coefficient<2>(of.number));
  const VectorGroup<n> fourth = multiply_add(third, f, shortfall_coefficient<1>(of.number));
  const VectorGroup<n> r = multiply_add(fourth, f, shortfall_coefficient<0>(of.number));
  const VectorGroup<n> fall =
      multiply_add(multiply_add(multiply_add(of.first, f, of.second), f, third), f, fourth);
  return {at_least(0.0F, of.x) - r,
          detail::each([](FloatVector at, FloatVector s) { return at > 0.0F ? 1.0F - s : s; }, of.x,
                       fall)};
}

/// For all elements from begin to end: last(i, gelu, lanes) with the GELU of argument(i, lanes).
template <class Argument, class Last>
[[gnu::always_inline]] inline void for_coarse_gelus(std::int64_t begin, std::int64_t end,
                                                    const Argument& argument, const Last& last) {
  constexpr int together = 2;
  for_staged_vectors<together>(
      begin, end, [=](std::int64_t i, auto lanes) { return detail::GeluPiece(argument(i, lanes)); },
      [](const auto& piece) { return detail::BegunGelu(piece); },
      [=](std::int64_t i, const auto& begun, auto lanes) { last(i, coarse_gelu(begun), lanes); });
}

}  // namespace triax
