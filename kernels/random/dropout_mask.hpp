// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dropout mask, shared by host and device: half i (16 bits) of the stream of the key
// (kernels/random/random.hpp) decides about element i. dropout.hpp explains the 16 bits.
#include <algorithm>
#include <cstdint>

namespace triax {

inline constexpr int halves_of_word = 2;
inline constexpr int halves_of_block = 8;  // a counter block of four words

/// Half `index` of the stream, given its word index / 2. The lower half comes first, as in
/// little-endian memory.
constexpr std::uint32_t half_of(std::uint32_t word, std::uint64_t index) {
  return index % halves_of_word == 0 ? word & 0xffffU : word >> 16U;
}

/// The decision per element: multiplied by `factor` or set to zero.
struct DropoutMask {
  std::uint16_t least = 0;  // lowest half that keeps its element; 0 keeps all
  float factor = 1.0F;

  constexpr bool drops() const { return least > 0; }
  constexpr bool keeps(std::uint32_t half) const { return half >= least; }
};

/// The mask for `probability` < 1, which is rounded to a multiple of 1/65536 other than 0 and 1. A
/// probability <= 0 keeps all elements. `factor` follows from the rounded probability, so that
/// means are exact.
constexpr DropoutMask dropout_mask(float probability) {
  if (probability <= 0.0F) return {};
  const int rounded = static_cast<int>(double{probability} * 0x1p16 + 0.5);
  const auto least = static_cast<std::uint16_t>(std::clamp(rounded, 1, 0xffff));
  return {least, 1.0F / (1.0F - static_cast<float>(least) * 0x1p-16F)};
}

}  // namespace triax
