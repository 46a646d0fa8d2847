// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random rounding to 16 bits, up or down, with the exact number as the mean: updates smaller than
// half a step are not lost in the long run (Gupta et al. 2015).
#include <bit>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"
#include "kernels/base/float16.hpp"

namespace triax {

/// `value` rounded to a number of T. It is rounded away from zero if the low bits of `word` plus
/// the bits that T drops reach a whole step. Infinities and NaN stay; values beyond T's largest
/// number may become infinite.
template <class T>
TRIAX_HOST_DEVICE constexpr float rounded_stochastically(float value, std::uint32_t word);

template <>
TRIAX_HOST_DEVICE constexpr float rounded_stochastically<Bf16>(float value, std::uint32_t word) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t up = (bits + (word & 0xffffU)) & 0xffff0000U;
  return std::bit_cast<float>((bits & 0x7f800000U) == 0x7f800000U ? bits : up);
}

// Below 2^-14, half precision has steps of 2^-24.
template <>
TRIAX_HOST_DEVICE constexpr float rounded_stochastically<F16>(float value, std::uint32_t word) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t part = word & 0x1fffU;
  const std::uint32_t up = (magnitude + part) & 0xffffe000U;
  const bool small = magnitude < 0x38800000U;
  const float steps = (small ? std::bit_cast<float>(magnitude) : 0.0F) * 0x1p+24F;
  const auto whole = static_cast<std::int32_t>(steps + static_cast<float>(part) * 0x1p-13F);
  const float subnormal = static_cast<float>(whole) * 0x1p-24F;
  const std::uint32_t rounded = small ? std::bit_cast<std::uint32_t>(subnormal) : up;
  return std::bit_cast<float>(magnitude >= 0x7f800000U ? bits : sign | rounded);
}

}  // namespace triax
