// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 16-bit floating-point numbers as C++ types. They only store: all arithmetic is in float32.
// Conversion from float32 rounds to nearest, ties to even; NaN stays NaN, and a value that is too
// large becomes infinite. The conversions have no branches, so that the compiler vectorises loops
// over them: put `#pragma omp simd` before the loop, and assign floats to the elements (`to[i] = x
// * y`), since a temporary Bf16 or F16 in the body keeps GCC 12 from vectorising it.
#include <algorithm>
#include <bit>
#include <cstdint>

namespace triax {

/// bfloat16: the upper half of a float32.
struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  constexpr explicit Bf16(float value) : bits(rounded(value)) {}
  constexpr Bf16& operator=(float value) {
    bits = rounded(value);
    return *this;
  }
  static constexpr Bf16 from_bits(std::uint16_t bits) {
    Bf16 out{};
    out.bits = bits;
    return out;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): widening is exact
  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

 private:
  static constexpr std::uint16_t rounded(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t up = word + 0x7fffU + ((word >> 16U) & 1U);
    return static_cast<std::uint16_t>((value == value ? up : 0x7fc00000U) >> 16U);
  }
};

/// IEEE 754 half precision: 5 bits of exponent, 10 of fraction, with subnormals. The conversions
/// are those of Maratyszcza's FP16 library: float32 arithmetic that rounds at half precision's last
/// place.
struct F16 {
  std::uint16_t bits;

  F16() = default;
  constexpr explicit F16(float value) : bits(rounded(value)) {}
  constexpr F16& operator=(float value) {
    bits = rounded(value);
    return *this;
  }
  static constexpr F16 from_bits(std::uint16_t bits) {
    F16 out{};
    out.bits = bits;
    return out;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): widening is exact
  constexpr operator float() const {
    const std::uint32_t word = std::uint32_t{bits} << 16U;
    const std::uint32_t sign = word & 0x80000000U;
    const std::uint32_t twice = word + word;  // exponent and fraction in the top 15 bits
    // Moves the exponent so that half precision's infinity and NaN become float32's, and scales
    // back.
    const float normal = std::bit_cast<float>((twice >> 4U) + (0xe0U << 23U)) * 0x1p-112F;
    const float subnormal = std::bit_cast<float>((twice >> 17U) | (126U << 23U)) - 0.5F;
    const float magnitude = twice < (1U << 27U) ? subnormal : normal;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }

 private:
  static constexpr std::uint16_t rounded(float value) {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t twice = word + word;
    const float magnitude = std::bit_cast<float>(word & 0x7fffffffU);
    const float scaled = magnitude * 0x1p+112F * 0x1p-110F;  // infinite where half precision is
    // The last place of the addend has the weight of the result's last place: the addition rounds.
    const std::uint32_t exponent = std::max(twice & 0xff000000U, 0x71000000U);
    const float sum = std::bit_cast<float>((exponent >> 1U) + 0x07800000U) + scaled;
    const std::uint32_t sum_bits = std::bit_cast<std::uint32_t>(sum);
    const std::uint32_t finite = ((sum_bits >> 13U) & 0x7c00U) + (sum_bits & 0xfffU);
    const bool nan = twice > 0xff000000U;
    return static_cast<std::uint16_t>(((word >> 16U) & 0x8000U) | (nan ? 0x7e00U : finite));
  }
};

}  // namespace triax
