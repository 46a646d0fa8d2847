// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pseudo-random permutation of [0, n) without a table: a balanced Feistel network over the next
// even power of two (Luby and Rackoff 1988), with cycle walking back into the range (Black and
// Rogaway 2002).
#include <array>
#include <bit>
#include <cstdint>

#include "kernels/base/splitmix.hpp"

namespace triax {

/// The permutation of [0, n), n >= 1, for (seed, epoch). An evaluation takes fewer than four walks
/// on average.
class Permutation {
 public:
  constexpr Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch) : n_(n) {
    const int bits = n > 1 ? std::bit_width(n - 1) : 1;
    half_ = (bits + 1) / 2;
    mask_ = (std::uint64_t{1} << half_) - 1;
    std::uint64_t key = splitmix64(splitmix64(seed) + epoch);
    for (std::uint64_t& round : keys_) round = key = splitmix64(key);
  }
  /// Image of `index` < n.
  constexpr std::uint64_t operator()(std::uint64_t index) const {
    do index = encrypt(index);
    while (index >= n_);
    return index;
  }

 private:
  constexpr std::uint64_t encrypt(std::uint64_t x) const {
    std::uint64_t left = x >> half_;
    std::uint64_t right = x & mask_;
    for (const std::uint64_t key : keys_) {
      const std::uint64_t mixed = left ^ (splitmix64(right ^ key) & mask_);
      left = right;
      right = mixed;
    }
    return left << half_ | right;
  }

  std::uint64_t n_;
  int half_ = 1;  // bits of each half
  std::uint64_t mask_ = 1;
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace triax
