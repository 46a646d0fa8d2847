// SPDX-License-Identifier: Apache-2.0
#pragma once
// Size of the tiles in which a weight is decoded or summed: the whole matrix never exists.
#include <algorithm>
#include <cstdint>

namespace triax {

/// Rows or columns, at most `most`, of a tile of a weight whose other side is `length`.
inline std::int64_t tile_side(std::int64_t length, std::int64_t most) {
  constexpr std::int64_t elements = std::int64_t{1} << 20, least = 64;
  const std::int64_t side = elements / std::max<std::int64_t>(1, length) / least * least;
  return std::min(most, std::max(least, side));
}

}  // namespace triax
