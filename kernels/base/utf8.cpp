// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace triax {
namespace {

struct Sequence {
  std::size_t length;  // bytes of the sequence, or of the ill-formed part to replace
  bool valid;
};

// The bytes that may follow a lead byte: `count` of them, the first in [low, high] (Unicode table
// 3-7).
struct Followers {
  std::size_t count;
  unsigned char low = 0x80, high = 0xbf;
};

Followers followers_of(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {1};
  if (lead == 0xe0) return {2, 0xa0, 0xbf};
  if (lead == 0xed) return {2, 0x80, 0x9f};  // no surrogates
  if (lead >= 0xe1 && lead <= 0xef) return {2};
  if (lead == 0xf0) return {3, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {3};
  if (lead == 0xf4) return {3, 0x80, 0x8f};
  return {0};
}

// The sequence at `at`, whose first byte is not ASCII.
Sequence sequence_at(std::string_view text, std::size_t at) {
  const Followers followers = followers_of(static_cast<unsigned char>(text[at]));
  if (followers.count == 0) return {1, false};
  for (std::size_t i = 1; i <= followers.count; ++i) {
    if (at + i >= text.size()) return {i, false};
    const auto byte = static_cast<unsigned char>(text[at + i]);
    const unsigned char low = i == 1 ? followers.low : 0x80;
    const unsigned char high = i == 1 ? followers.high : 0xbf;
    if (byte < low || byte > high) return {i, false};
  }
  return {followers.count + 1, true};
}

// The first byte from `at` on that is not ASCII.
std::size_t skip_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t high_bits = 0x8080808080808080u;
  for (std::uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & high_bits) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

}  // namespace

std::size_t valid_utf8(std::string_view text) {
  std::size_t at = skip_ascii(text, 0);
  while (at < text.size()) {
    const Sequence sequence = sequence_at(text, at);
    if (!sequence.valid) return at;
    at += sequence.length;
    if (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) at = skip_ascii(text, at);
  }
  return at;
}

std::size_t append_repaired(std::string_view text, std::string& out) {
  std::size_t replaced = 0;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    text.remove_prefix(sequence_at(text, 0).length);
    out.append(replacement_character);
    ++replaced;
  }
  return replaced;
}

void append_utf8(std::string& out, char32_t code) {
  const auto byte = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

}  // namespace triax
