// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of tile products into register tiles ("blocks" in code), for tile_gemm and
// tile_gemm_bf16.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/matmul/tile_gemm.hpp"

namespace triax {

/// Range of the depth of a product, in steps of Kernel::depths elements.
struct DepthRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Runs `Kernel` over every register tile of `product` that its triangle requires, columns
/// outermost.
///   Kernel::rows, Kernel::vectors   size of a full register tile; those at the edges are smaller
///   Kernel::lanes                   floats per vector
///   Kernel::depths                  elements of the depth per step
///   Kernel::block<Rows, Vectors>(product, m0, n0, depth range)
template <class Kernel>
struct TileBlocks {
  template <class Product>
  static void run(const Product& p) {
    using Block = void (*)(const Product&, std::int64_t, std::int64_t, DepthRange);
    // blocks[rows - 1][vectors - 1]
    static constexpr auto blocks = all<Block>(std::make_integer_sequence<int, Kernel::rows>{});
    constexpr std::int64_t columns = std::int64_t{Kernel::vectors} * Kernel::lanes;
    for (std::int64_t n0 = 0; n0 < p.columns; n0 += columns)
      for (std::int64_t m0 = 0; m0 < p.rows; m0 += Kernel::rows) {
        const std::int64_t m_end = std::min(m0 + Kernel::rows, p.rows);
        std::int64_t n_end = std::min(n0 + columns, p.columns);
        DepthRange k{0, p.depth};
        if (p.triangle == Triangle::c_lower) n_end = std::min(n_end, m_end);
        if (p.triangle == Triangle::a_lower)
          k.end = std::min(k.end, (m_end + Kernel::depths - 1) / Kernel::depths);
        if (p.triangle == Triangle::a_upper) k.begin = std::min(m0 / Kernel::depths, k.end);
        if (n_end <= n0) continue;
        const auto vectors = (n_end - n0 + Kernel::lanes - 1) / Kernel::lanes;
        blocks[static_cast<std::size_t>(m_end - m0 - 1)][static_cast<std::size_t>(vectors - 1)](
            p, m0, n0, k);
      }
  }

 private:
  template <class Block, int Rows, int... V>
  static constexpr std::array<Block, Kernel::vectors> of_rows(std::integer_sequence<int, V...>) {
    return {Kernel::template block<Rows, V + 1>...};
  }
  template <class Block, int... R>
  static constexpr std::array<std::array<Block, Kernel::vectors>, Kernel::rows> all(
      std::integer_sequence<int, R...>) {
    return {of_rows<Block, R + 1>(std::make_integer_sequence<int, Kernel::vectors>{})...};
  }
};

}  // namespace triax
