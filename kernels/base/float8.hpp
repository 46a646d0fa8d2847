// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two 8-bit floating-point formats (Micikevicius et al. 2022). They only store, as in
// float16.hpp. Conversion from float32 rounds to nearest, ties to even; a value that is too large
// becomes the largest finite number, and NaN stays NaN.
#include <bit>
#include <cstdint>
#include <limits>

namespace triax {

enum class Float8 : std::uint8_t {
  e4m3,  // 4 bits of exponent, 3 of fraction; up to 448, no infinities: weights and activations
  e5m2   // 5 and 2; up to 57344: gradients
};

inline constexpr std::uint32_t float8_nan = 0x7f;  // in both formats

/// Parameters of a format.
struct Float8Format {
  int fraction_bits;
  int least_exponent;    // of normal numbers
  int largest_exponent;  // largest number: 1.75 * 2^largest_exponent

  constexpr float largest() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(largest_exponent + 127) << 23U) * 1.75F;
  }
};

constexpr Float8Format format_of(Float8 format) {
  return format == Float8::e4m3 ? Float8Format{3, -6, 8} : Float8Format{2, -14, 15};
}

constexpr bool is_finite_bits(std::uint32_t bits) {
  return (bits & 0x7f800000U) != 0x7f800000U;
}

/// A float rounded to a format: `count` steps of one last place each, `size` the size of a step.
struct Float8Steps {
  std::uint32_t count;
  std::uint32_t size;  // biased exponent of float32

  constexpr Float8Steps(Float8Format format, std::uint32_t magnitude) {
    const float largest = format.largest();
    const float value = std::bit_cast<float>(magnitude);
    const std::uint32_t bits = value > largest ? std::bit_cast<std::uint32_t>(largest) : magnitude;
    const auto least = static_cast<std::uint32_t>(format.least_exponent + 127);
    const std::uint32_t exponent = bits >> 23U > least ? bits >> 23U : least;
    // float32 itself rounds to whole steps when a number is added whose last place is one step.
    const std::uint32_t beside = (exponent + 23U - static_cast<std::uint32_t>(format.fraction_bits))
                                 << 23U;
    const float sum = std::bit_cast<float>(beside) + std::bit_cast<float>(bits);
    count = std::bit_cast<std::uint32_t>(sum) - beside;
    size = exponent - static_cast<std::uint32_t>(format.fraction_bits);
  }
};

/// The number of the format that is nearest to `value`.
constexpr float round_to(Float8Format format, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const Float8Steps steps(format, bits & 0x7fffffffU);
  const float magnitude = static_cast<float>(steps.count) * std::bit_cast<float>(steps.size << 23U);
  const float rounded =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | (bits & 0x80000000U));
  return value == value ? rounded : value;
}

/// Code of `value` in the format: sign, exponent and fraction.
constexpr std::uint8_t encode(Float8Format format, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const Float8Steps steps(format, bits & 0x7fffffffU);
  const auto fraction_bits = static_cast<std::uint32_t>(format.fraction_bits);
  const auto least = static_cast<std::uint32_t>(format.least_exponent + 127) - fraction_bits;
  const std::uint32_t code = ((steps.size - least) << fraction_bits) + steps.count;
  const std::uint32_t sign = (bits >> 24U) & 0x80U;
  return static_cast<std::uint8_t>(sign | (value == value ? code : float8_nan));
}

/// Value of a code.
constexpr float decode(Float8 name, std::uint8_t code) {
  const Float8Format format = format_of(name);
  const auto fraction_bits = static_cast<std::uint32_t>(format.fraction_bits);
  const std::uint32_t magnitude = code & 0x7fU;
  const std::uint32_t sign = (code & 0x80U) << 24U;
  if (name == Float8::e4m3 && magnitude == float8_nan)
    return std::numeric_limits<float>::quiet_NaN();
  if (name == Float8::e5m2 && magnitude >= 0x7cU)
    return magnitude > 0x7cU ? std::numeric_limits<float>::quiet_NaN()
                             : std::bit_cast<float>(sign | 0x7f800000U);
  const std::uint32_t exponent = magnitude >> fraction_bits;
  const std::uint32_t fraction = magnitude & ((1U << fraction_bits) - 1U);
  const std::uint32_t count = exponent == 0 ? fraction : fraction + (1U << fraction_bits);
  const std::uint32_t step = static_cast<std::uint32_t>(format.least_exponent + 127) -
                             fraction_bits + (exponent == 0 ? 0U : exponent - 1U);
  const float value = static_cast<float>(count) * std::bit_cast<float>(step << 23U);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

/// The power of two that scales numbers of at most `largest` (float32 bits without the sign) as far
/// up in the format as they fit. It changes no digits; only numbers too small for the format lose
/// some. 1 if `largest` is 0; NaN if it is not finite, so that all results become NaN.
constexpr float scale_for(Float8Format format, std::uint32_t largest) {
  constexpr int most =
      100;  // numbers of the format over it are normal ones of float32 and bfloat16
  if (largest == 0) return 1.0F;
  if (!is_finite_bits(largest)) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = static_cast<int>(largest >> 23U) - 127;
  const int above = (largest & 0x7fffffU) > 0x600000U ? 1 : 0;  // more than 1.75 * 2^exponent
  const int power = format.largest_exponent - exponent - above;
  return std::bit_cast<float>(static_cast<std::uint32_t>((power < most ? power : most) + 127)
                              << 23U);
}

}  // namespace triax
