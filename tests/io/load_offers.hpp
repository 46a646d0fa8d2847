// SPDX-License-Identifier: Apache-2.0
#pragma once
// Offers for LoadPlanner: the chunks that each rank of a test needs.
#include <vector>

#include "io/checkpoint/load/load_round.hpp"

namespace triax {

/// Chunks that each rank needs, in order.
using Offers = std::vector<std::vector<std::int64_t>>;

/// Numbers per rank in padded offers.
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
  return LoadPlanner(nodes, rank,
                     [](std::int64_t) { return std::int64_t{10}; });  // bytes per chunk
}

}  // namespace triax
