// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rounds of Philox4x32-10 (kernels/random/random.hpp), compiled for the host's loops and for
// the device, so that both make the same words.
#include <cstdint>

#include "kernels/base/device/host_device.hpp"

namespace triax {

// Constants of Random123: the multipliers of the two halves, and the key's increments per round (a
// Weyl sequence).
inline constexpr std::uint64_t philox_multiplier0 = 0xD2511F53;
inline constexpr std::uint64_t philox_multiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t philox_weyl0 = 0x9E3779B9;
inline constexpr std::uint32_t philox_weyl1 = 0xBB67AE85;
inline constexpr int philox_rounds = 10;

/// The four words of a counter block.
struct PhiloxBlock {
  std::uint32_t w0, w1, w2, w3;
};

/// Encrypts a 128-bit counter, low words first, under a 64-bit key.
[[gnu::always_inline]] constexpr PhiloxBlock philox_encrypt(PhiloxBlock counter, std::uint32_t key0,
                                                            std::uint32_t key1) {
  TRIAX_UNROLL
  for (int round = 0; round < philox_rounds; ++round) {
    const std::uint64_t p0 = philox_multiplier0 * counter.w0;
    const std::uint64_t p1 = philox_multiplier1 * counter.w2;
    counter = {
        static_cast<std::uint32_t>(p1 >> 32U) ^ counter.w1 ^ key0, static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32U) ^ counter.w3 ^ key1, static_cast<std::uint32_t>(p0)};
    key0 += philox_weyl0;
    key1 += philox_weyl1;
  }
  return counter;
}

/// The words of counter block `counter` (its high 64 bits are zero) under `key`.
[[gnu::always_inline]] constexpr PhiloxBlock philox_block(std::uint64_t key,
                                                          std::uint64_t counter) {
  return philox_encrypt(
      {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32U), 0, 0},
      static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U));
}

}  // namespace triax
