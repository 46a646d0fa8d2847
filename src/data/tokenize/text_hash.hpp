// SPDX-License-Identifier: Apache-2.0
#pragma once
// 128-bit hash of texts: MurmurHash3_x64_128 (Appleby 2011, public domain). Not for texts made to
// collide.
#include <bit>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "kernels/base/splitmix.hpp"

namespace triax {

struct TextHash {
  std::uint64_t low = 0, high = 0;
  auto operator<=>(const TextHash&) const = default;
};

TextHash text_hash(std::string_view text);

/// Hash of a text in pieces, from that of the pieces before and that of the next one.
constexpr TextHash joined(const TextHash& before, const TextHash& next) {
  return {splitmix64(before.low + 0x51ed270b) ^ next.low,
          splitmix64(before.high + 0x2545f491) ^ std::rotl(next.high, 23)};
}

}  // namespace triax
