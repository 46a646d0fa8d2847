// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout of packed states: cells of 256 elements, each element a code of DynamicMap, times the
// largest magnitude of the cell (bitsandbytes' blocks of 256). A cell is 256 bytes of codes and a
// float32 scale; the last cell of a tensor may be used in part. All bytes 0 is a state of zeros.
#include <cstdint>

namespace triax {

inline constexpr std::int64_t cell_elements = 256;
inline constexpr std::int64_t cell_bytes = cell_elements + 4;

/// Cells and bytes of `elements` elements from the beginning of a cell.
constexpr std::int64_t cells_of(std::int64_t elements) {
  return (elements + cell_elements - 1) / cell_elements;
}
constexpr std::int64_t packed_bytes(std::int64_t elements) {
  return cells_of(elements) * cell_bytes;
}

}  // namespace triax
