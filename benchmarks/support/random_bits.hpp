// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data for disk benchmarks, because some file systems and drives compress their contents.
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/base/device/device.hpp"
#include "kernels/base/splitmix.hpp"

namespace triax::benchmark {

/// Fills memory with incompressible bits, except the last bytes % 8. Another `key` gives other
/// bits.
inline void fill_random_bits(const Buffer& memory, std::uint64_t key = 0) {
  auto* const words = static_cast<std::uint64_t*>(memory.data());
  const std::uint64_t first = splitmix64(key);
  for (std::uint64_t i = 0; i < memory.bytes() / sizeof(std::uint64_t); ++i)
    words[i] = splitmix64(first + i);
}

/// Floats from 0 to 1 with random mantissas.
inline void fill_random_floats(const Buffer& memory) {
  fill_random_bits(memory);
  auto* const values = static_cast<float*>(memory.data());
  for (std::size_t i = 0; i < memory.bytes() / sizeof(float); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof bits);
    values[i] = std::bit_cast<float>((bits & 0x7fffffU) | 0x3f800000U) - 1.0F;
  }
}

}  // namespace triax::benchmark
