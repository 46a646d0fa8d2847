#pragma once
// The one place that says what dropout keeps, on the host and on a device: the stream of its key
// (kernels/random/random.hpp), taken as halves of 16 bits, decides, half i about element i.
// dropout.hpp says why 16 bits.
#include <algorithm>
#include <cstdint>

namespace triax {

inline constexpr int halves_of_word = 2;
inline constexpr int halves_of_block = 8;  // of four words, which the generator makes at once

/// Half `index` of the stream, of word index / 2: the lower half before the upper one, as memory
/// has them.
constexpr std::uint32_t half_of(std::uint32_t word, std::uint64_t index) {
  return index % halves_of_word == 0 ? word & 0xffffU : word >> 16U;
}

/// What becomes of elements: `factor` times as much, or zero.
struct DropoutMask {
  std::uint16_t least = 0;  // the least half that keeps its element; 0: all do
  float factor = 1.0F;

  constexpr bool drops() const { return least > 0; }
  constexpr bool keeps(std::uint32_t half) const { return half >= least; }
};

/// The probability, less than 1, is rounded to 1/65536, but neither to 0 nor to 1. `factor` is that
/// of the rounded one, so that means are exact.
constexpr DropoutMask dropout_mask(float probability) {
  if (probability <= 0.0F) return {};
  const int rounded = static_cast<int>(double{probability} * 0x1p16 + 0.5);
  const auto least = static_cast<std::uint16_t>(std::clamp(rounded, 1, 0xffff));
  return {least, 1.0F / (1.0F - static_cast<float>(least) * 0x1p-16F)};
}

}  // namespace triax
