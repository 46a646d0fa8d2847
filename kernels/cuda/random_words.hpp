#pragma once
// Words of the counter-based generator, made where they are used.
#include <cstdint>

#include "kernels/base/host_device.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/philox.hpp"

namespace triax::cuda {

inline constexpr int philox_words = 4;  // of a counter block

/// words[j] = word (index + j) of the stream of `key`, as triax::random_words. n is 1, or a
/// multiple of philox_words as is then `index`.
template <int n>
TRIAX_DEVICE inline void words_at(std::uint32_t* words, std::uint64_t key, std::int64_t index) {
  const auto block = static_cast<std::uint64_t>(index / philox_words);
  if constexpr (n == 1) {
    const PhiloxBlock made = philox_block(key, block);
    const auto lane = static_cast<int>(index % philox_words);
    words[0] = lane < 2 ? (lane == 0 ? made.w0 : made.w1) : (lane == 2 ? made.w2 : made.w3);
  } else {
    static_assert(n % philox_words == 0);
    TRIAX_UNROLL
    for (int j = 0; j < n; j += philox_words) {
      const PhiloxBlock made = philox_block(key, block + static_cast<std::uint64_t>(j / 4));
      words[j] = made.w0;
      words[j + 1] = made.w1;
      words[j + 2] = made.w2;
      words[j + 3] = made.w3;
    }
  }
}

}  // namespace triax::cuda
