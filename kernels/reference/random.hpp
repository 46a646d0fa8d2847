// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normal numbers element by element in double precision: the oracle of kernels/random/random.hpp.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/random/random.hpp"

namespace triax::reference {

/// Word `index` of the stream of `key`.
inline std::uint32_t random_word(std::uint64_t key, std::int64_t index) {
  return philox(key, static_cast<std::uint64_t>(index / 4))[static_cast<std::size_t>(index % 4)];
}

/// Standard normal number `index` of the stream of `key`, by Box and Muller (1958).
inline double normal(std::uint64_t key, std::int64_t index) {
  const std::int64_t pair = index / 2 * 2;
  const double u = (random_word(key, pair) + 0.5) / 4294967296.0;
  const double angle = 2.0 * std::numbers::pi * random_word(key, pair + 1) / 4294967296.0;
  return std::sqrt(-2.0 * std::log(u)) * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

}  // namespace triax::reference
