// SPDX-License-Identifier: Apache-2.0
#pragma once
// SHA-256 (FIPS 180-4), for fingerprints that other programs can check.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace triax {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// Digest of all bytes so far, 64 hexadecimal digits. Call once.
  std::string hex();

 private:
  void add_chunk(const unsigned char* chunk);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::uint64_t bytes_ = 0;
};

/// Digest of one text.
std::string sha256_of(std::string_view bytes);

}  // namespace triax
