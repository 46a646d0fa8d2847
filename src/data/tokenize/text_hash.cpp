// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/text_hash.hpp"

#include <algorithm>
#include <array>

namespace triax {
namespace {

constexpr std::uint64_t c1 = 0x87c37b91114253d5u, c2 = 0x4cf5ad432745937fu;

std::uint64_t mixed_low(std::uint64_t k) {
  return std::rotl(k * c1, 31) * c2;
}

std::uint64_t mixed_high(std::uint64_t k) {
  return std::rotl(k * c2, 33) * c1;
}

std::uint64_t finished(std::uint64_t k) {
  k ^= k >> 33;
  k *= 0xff51afd7ed558ccdu;
  k ^= k >> 33;
  k *= 0xc4ceb9fe1a85ec53u;
  return k ^ k >> 33;
}

}  // namespace

TextHash text_hash(std::string_view text) {
  const std::uint64_t bytes = text.size();
  TextHash h;
  std::array<std::uint64_t, 2> word{};
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(word.data(), text.data(), sizeof word);
    h.low = (std::rotl(h.low ^ mixed_low(word[0]), 27) + h.high) * 5 + 0x52dce729;
    h.high = (std::rotl(h.high ^ mixed_high(word[1]), 31) + h.low) * 5 + 0x38495ab5;
  }
  word = {};
  if (!text.empty()) std::memcpy(word.data(), text.data(), text.size());
  h.low ^= mixed_low(word[0]) ^ bytes;
  h.high ^= mixed_high(word[1]) ^ bytes;
  h.low += h.high;
  h.high += h.low;
  h.low = finished(h.low);
  h.high = finished(h.high);
  h.low += h.high;
  h.high += h.low;
  return h;
}

}  // namespace triax
