#pragma once
// 16-bit floating-point numbers by their bits.
#include <bit>
#include <cstdint>

namespace triax {

/// bfloat16 is the upper half of a float32.
constexpr float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

/// IEEE 754 half precision; exact, with subnormals, infinities and NaN.
constexpr float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {  // zero or subnormal: mantissa x 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

}  // namespace triax
