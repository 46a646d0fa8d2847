// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random words of the Philox counter-based generator, computed where they are used.
#include <cstdint>

#include "kernels/base/device/host_device.hpp"
#include "kernels/cuda/launch/launch.hpp"
#include "kernels/random/dropout_mask.hpp"
#include "kernels/random/philox.hpp"

namespace triax::cuda {

inline constexpr int philox_words = 4;  // per counter block

TRIAX_DEVICE inline std::uint32_t word_of(const PhiloxBlock& made, int lane) {
  return lane < 2 ? (lane == 0 ? made.w0 : made.w1) : (lane == 2 ? made.w2 : made.w3);
}

/// words[j] = word (index + j) of the stream of `key`, as triax::random_words. n and `index` are
/// multiples of philox_words.
template <int n>
TRIAX_DEVICE inline void words_at(std::uint32_t* words, std::uint64_t key, std::int64_t index) {
  static_assert(n % philox_words == 0);
  const auto block = static_cast<std::uint64_t>(index / philox_words);
  TRIAX_UNROLL
  for (int j = 0; j < n; j += philox_words) {
    const PhiloxBlock made = philox_block(key, block + static_cast<std::uint64_t>(j / 4));
    words[j] = made.w0;
    words[j + 1] = made.w1;
    words[j + 2] = made.w2;
    words[j + 3] = made.w3;
  }
}

/// halves[j] = half word (index + j) of the stream of `key`, as dropout uses them
/// (dropout_mask.hpp). n is 1, 4 or 8, and `index` a multiple of n.
template <int n>
TRIAX_DEVICE inline void halves_at(std::uint32_t* halves, std::uint64_t key, std::int64_t index) {
  static_assert(n == 1 || n == halves_of_block / 2 || n == halves_of_block);
  const auto at = static_cast<std::uint64_t>(index);
  const PhiloxBlock made = philox_block(key, at / halves_of_block);
  const auto inside = static_cast<int>(at % halves_of_block / n * n);
  TRIAX_UNROLL
  for (int j = 0; j < n; ++j)
    halves[j] = half_of(word_of(made, (inside + j) / halves_of_word),
                        static_cast<std::uint64_t>(inside + j));
}

}  // namespace triax::cuda
