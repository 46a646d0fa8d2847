// SPDX-License-Identifier: Apache-2.0
#include "kernels/quant/levels.hpp"

#include <algorithm>

namespace triax {
namespace {

constexpr std::array<float, 16> nf4_levels = {-1.0F,
                                              -0.6961928009986877F,
                                              -0.5250730514526367F,
                                              -0.39491748809814453F,
                                              -0.28444138169288635F,
                                              -0.18477343022823334F,
                                              -0.09105003625154495F,
                                              0.0F,
                                              0.07958029955625534F,
                                              0.16093020141124725F,
                                              0.24611230194568634F,
                                              0.33791524171829224F,
                                              0.44070982933044434F,
                                              0.5626170039176941F,
                                              0.7229568362236023F,
                                              1.0F};

// Code 8 is 0 again, not -0.
constexpr std::array<float, 16> fp4_levels() {
  constexpr std::array<float, 8> twelfths = {0.0F, 0.0625F, 8.0F, 12.0F, 4.0F, 6.0F, 2.0F, 3.0F};
  std::array<float, 16> levels = {};
  for (std::size_t code = 1; code < twelfths.size(); ++code) {
    levels[code] = twelfths[code] / 12.0F;
    levels[code + 8] = -levels[code];
  }
  return levels;
}

constexpr FourBitTable table_of(const std::array<float, 16>& levels) {
  FourBitTable table{.levels = levels};
  for (std::size_t code = 0; code < levels.size(); ++code)
    table.ranked[code] = static_cast<std::int32_t>(code);
  const auto level = [&](std::size_t rank) {
    return levels[static_cast<std::size_t>(table.ranked[rank])];
  };
  // Sorted by insertion: equal levels keep the order of their codes.
  for (std::size_t end = 1; end < levels.size(); ++end)
    for (std::size_t rank = end; rank > 0 && level(rank) < level(rank - 1); --rank)
      std::swap(table.ranked[rank], table.ranked[rank - 1]);
  for (std::size_t rank = 0; rank < table.thresholds.size(); ++rank)
    table.thresholds[rank] = (level(rank) + level(rank + 1)) / 2.0F;
  return table;
}

constexpr FourBitTable nf4 = table_of(nf4_levels);
constexpr FourBitTable fp4 = table_of(fp4_levels());

}  // namespace

const FourBitTable& four_bit_table(FourBit type) {
  return type == FourBit::nf4 ? nf4 : fp4;
}

}  // namespace triax
