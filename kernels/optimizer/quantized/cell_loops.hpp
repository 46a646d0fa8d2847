// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loops over a cell of a packed state, on the host.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/optimizer/quantized/cell.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"

namespace triax {

inline float scale_of(const std::uint8_t* cell) {
  float scale = 0.0F;
  std::memcpy(&scale, cell + cell_elements, sizeof scale);
  return scale;
}

/// to[0, n) = n elements from `cell`, whose first is number `first`.
inline void unpack_cell(float* to, const std::uint8_t* cell, std::int64_t first, std::int64_t n,
                        const float* levels) {
  const float scale = scale_of(cell);
  const std::uint8_t* from = cell + first;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) to[i] = levels[from[i]] * scale;
}

/// cell = from[0, n), with that scale.
template <CodeMap map>
void pack_cell(std::uint8_t* cell, const float* from, std::int64_t n, float scale,
               const DynamicMap& tables) {
  const std::int32_t* bins = tables.bins.data();
  const float* thresholds = tables.thresholds.data();
  std::memcpy(cell + cell_elements, &scale, sizeof scale);
  const float divisor = scale > 0.0F ? scale : 1.0F;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    cell[i] = static_cast<std::uint8_t>(code_of<map>(from[i] / divisor, bins, thresholds));
}

/// Largest magnitude of from[0, n).
inline float largest_of(const float* from, std::int64_t n) {
  float most = 0.0F;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(from[i]));
  return most;
}

}  // namespace triax
