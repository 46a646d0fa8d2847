// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/quantized/dynamic_map.hpp"

#include <limits>

namespace triax {
namespace {

constexpr float decades[] = {1e-6F, 1e-5F, 1e-4F, 1e-3F, 1e-2F, 1e-1F, 1.0F};

// End of part i of `parts` equal parts of [0.1, 1], with the bits of torch.linspace: counted from
// the nearer end, rounded once.
constexpr float boundary(int i, int parts) {
  const double part = (1.0F - 0.1F) / static_cast<float>(parts);
  return static_cast<float>(i < (parts + 1) / 2 ? 0.1F + part * i : 1.0 - part * (parts - i));
}

// Levels 0, the middles of equal parts of each decade, and 1: returns their number. The lowest
// decade has `parts` parts, each higher one twice as many.
constexpr int magnitudes(std::array<float, codes>& levels, int parts) {
  int count = 1;
  for (const float decade : decades) {
    for (int i = 0; i < parts; ++i)
      levels[static_cast<std::size_t>(count++)] =
          decade * ((boundary(i, parts) + boundary(i + 1, parts)) / 2.0F);
    parts *= 2;
  }
  levels[static_cast<std::size_t>(count++)] = 1.0F;
  return count;
}

constexpr DynamicMap map_of(CodeMap map) {
  DynamicMap tables;
  std::array<float, codes> positive = {};
  const int count = magnitudes(positive, map == CodeMap::signs ? 1 : 2);
  const auto zero = static_cast<std::size_t>(zero_code(map));
  const auto above = static_cast<std::size_t>(count);
  for (std::size_t m = 0; m < above; ++m) {
    tables.levels[zero + m] = positive[m];
    if (m > 0 && m <= zero) tables.levels[zero - m] = -positive[m];
    tables.thresholds[m] = m + 1 < above ? 0.5F * (positive[m] + positive[m + 1])
                                         : std::numeric_limits<float>::infinity();
  }
  std::size_t below = 0;
  for (std::size_t b = 0; b < tables.bins.size(); ++b) {
    const auto first = std::bit_cast<float>((DynamicMap::first_bin + static_cast<std::int32_t>(b))
                                            << DynamicMap::bin_shift);
    while (tables.thresholds[below] < first) ++below;
    tables.bins[b] = static_cast<std::int32_t>(below);
  }
  return tables;
}

constexpr DynamicMap with_signs = map_of(CodeMap::signs);
constexpr DynamicMap without_signs = map_of(CodeMap::positive);

// No bin holds two thresholds.
constexpr bool searchable(const DynamicMap& map) {
  for (std::size_t b = 0; b + 1 < map.bins.size(); ++b)
    if (map.bins[b + 1] > map.bins[b] + 1) return false;
  return map.bins[0] == 0;
}
static_assert(searchable(with_signs) && searchable(without_signs));

}  // namespace

const DynamicMap& dynamic_map(CodeMap map) {
  return map == CodeMap::signs ? with_signs : without_signs;
}

}  // namespace triax
