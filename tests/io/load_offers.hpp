#pragma once
// Blocks of a checkpoint that the ranks of a test offer to bring in.
#include <vector>

#include "io/checkpoint/load/load_round.hpp"

namespace triax {

/// Blocks that each rank needs, in its order.
using Offers = std::vector<std::vector<std::int64_t>>;

/// Of the offers of a rank, filled up.
inline constexpr std::size_t width = 6;
inline constexpr LoadPlace kept{LoadPlace::Kind::kept, 0};

inline std::vector<std::int64_t> padded(const Offers& offers) {
  std::vector<std::int64_t> out;
  for (std::vector<std::int64_t> offer : offers) {
    offer.resize(width, -1);
    out.insert(out.end(), offer.begin(), offer.end());
  }
  return out;
}

inline LoadPlanner planner_of(const LoadNodes& nodes, int rank) {
  return LoadPlanner(nodes, rank, [](std::int64_t) { return std::int64_t{10}; });  // bytes a block
}

}  // namespace triax
