// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights in 4 bits with a float32 scale per group of elements: bitsandbytes' quantize_4bit and
// dequantize_4bit. Two codes make a byte; the first is in its upper half.
#include "kernels/base/device/device.hpp"
#include "kernels/quant/levels.hpp"

namespace triax {

inline constexpr std::int64_t usual_group = 64;
inline constexpr std::int64_t most_group = 4096;

/// Scales and bytes of `elements` elements.
constexpr std::int64_t groups_of(std::int64_t elements, std::int64_t group) {
  return (elements + group - 1) / group;
}
constexpr std::int64_t four_bit_bytes(std::int64_t elements) {
  return (elements + 1) / 2;
}

/// codes, scales = values, which begin a group. values: (n) finite float32. codes:
/// (four_bit_bytes(n)) u8. scales: (groups_of(n)) float32, the largest magnitude of each group.
/// `group` is even and at most most_group. On the host.
void quantize_4bit(const Stream& stream, const Tensor& codes, const Tensor& scales,
                   const Tensor& values, FourBit type, std::int64_t group);

/// out = elements [first, first + n) of those that `codes` and `scales` begin with. out: (n)
/// float32: level times scale, rounded once. On the host.
void dequantize_4bit(const Stream& stream, const Tensor& out, const Tensor& codes,
                     const Tensor& scales, std::int64_t first, FourBit type, std::int64_t group);

/// out = elements [first + r stride, first + r stride + C) in row r. out: (R, C) float32. The rest
/// as in dequantize_4bit().
void dequantize_4bit_rows(const Stream& stream, const Tensor& out, const Tensor& codes,
                          const Tensor& scales, std::int64_t first, std::int64_t stride,
                          FourBit type, std::int64_t group);

}  // namespace triax
