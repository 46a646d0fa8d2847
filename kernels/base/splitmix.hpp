// SPDX-License-Identifier: Apache-2.0
#pragma once
// A mixer of 64-bit words, for keys of generators and permutations.
#include <cstdint>

namespace triax {

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014; MurmurHash3's with other constants): a
/// bijection of 64 bits in which every input bit changes every output bit. `Words` is a word or a
/// vector of words.
template <class Words>
constexpr Words splitmix64_words(Words x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// splitmix64_words of one word.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
  return splitmix64_words(x);
}

}  // namespace triax
