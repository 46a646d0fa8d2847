// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 4-bit types of bitsandbytes: NF4 (quantiles of a normal distribution; Dettmers et al. 2023,
// QLoRA) and FP4 (a sign, two bits of exponent, one of mantissa).
#include <array>
#include <cstdint>

namespace triax {

enum class FourBit : std::uint8_t { nf4, fp4 };

/// Tables of a 4-bit type. A number's rank is how many thresholds lie below it: one on a threshold
/// gets the lower level.
struct FourBitTable {
  std::array<float, 16> levels = {};         // by code
  std::array<float, 15> thresholds = {};     // ascending: midpoints of neighbouring levels
  std::array<std::int32_t, 16> ranked = {};  // code by rank
};
const FourBitTable& four_bit_table(FourBit type);

}  // namespace triax
