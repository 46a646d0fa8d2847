// SPDX-License-Identifier: Apache-2.0
#pragma once
// 8-bit codes of numbers in [-1, 1]: the dynamic map of "8-bit Optimizers via Block-wise
// Quantization" (Dettmers et al. 2022), as bitsandbytes' create_dynamic_map makes it. Seven decades
// from 1e-7 to 1, each with twice the levels of the one below, so that relative precision is best
// near 1 and small numbers are still told from 0.
#include <array>
#include <bit>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// signs: [-1, 1], code 127 is 0. positive: [0, 1], code 0 is 0.
enum class CodeMap : std::uint8_t { signs, positive };

inline constexpr int codes = 256;

/// Number of the code of the smallest magnitude, 0; magnitudes ascend from there.
TRIAX_HOST_DEVICE constexpr int zero_code(CodeMap map) {
  return map == CodeMap::signs ? 127 : 0;
}

/// Tables of a map.
struct DynamicMap {
  std::array<float, codes> levels = {};  // by code, ascending
  // Magnitude m is nearest to x if thresholds[m - 1] < x <= thresholds[m]. The last is infinite.
  std::array<float, codes> thresholds = {};
  // By the upper bits of x, from first_bin on: thresholds below all x of those bits. There is at
  // most one threshold among them.
  static constexpr int bin_shift = 16;  // keeps 7 bits of the mantissa
  static constexpr std::int32_t first_bin = std::bit_cast<std::int32_t>(0x1p-23F) >> bin_shift;
  static constexpr std::int32_t last_bin = std::bit_cast<std::int32_t>(1.0F) >> bin_shift;
  std::array<std::int32_t, last_bin - first_bin + 1> bins = {};
};

/// The tables of `map`.
const DynamicMap& dynamic_map(CodeMap map);

/// Number of the level nearest to `x` in [0, 1] among those of positive numbers, counted from 0.
inline std::int32_t magnitude_of(float x, const std::int32_t* bins, const float* thresholds) {
  const std::int32_t bin =
      (std::bit_cast<std::int32_t>(x) >> DynamicMap::bin_shift) - DynamicMap::first_bin;
  const std::int32_t below = bins[bin < 0 ? 0 : bin];
  return below + (x > thresholds[below] ? 1 : 0);
}

/// Code of `x` in [-1, 1]; in [0, 1] for positive codes. Tables: those of the map.
template <CodeMap map>
std::int32_t code_of(float x, const std::int32_t* bins, const float* thresholds) {
  if constexpr (map == CodeMap::positive) return magnitude_of(x, bins, thresholds);
  const std::int32_t bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t m = magnitude_of(std::bit_cast<float>(bits & 0x7fffffff), bins, thresholds);
  const std::int32_t down = 127 - (m < 127 ? m : 127);  // there is no -1
  return bits < 0 ? down : 127 + m;
}

}  // namespace triax
