// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/vocabulary.hpp"

#include <algorithm>
#include <array>

#include "kernels/base/utf8.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

// Code points of the bytes: printable ones stand for themselves, the others for U+0100 and on.
std::array<char32_t, 256> alphabet_points() {
  std::array<char32_t, 256> points{};
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < points.size(); ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    points[byte] = printable ? static_cast<char32_t>(byte) : next++;
  }
  return points;
}

// Byte of a code point below 0x180; -1: none.
std::array<int, 0x180> alphabet_bytes() {
  std::array<int, 0x180> bytes{};
  bytes.fill(-1);
  const auto points = alphabet_points();
  for (std::size_t byte = 0; byte < points.size(); ++byte)
    bytes[points[byte]] = static_cast<int>(byte);
  return bytes;
}

}  // namespace

void Vocabulary::reserve(std::size_t tokens) {
  texts_.reserve(tokens);
  ids_.reserve(tokens);
}

std::string_view Vocabulary::kept(std::string_view text) {
  if (arena_.empty() || arena_.back().capacity() - arena_.back().size() < text.size())
    arena_.emplace_back().reserve(std::max(chunk, text.size()));
  std::string& last = arena_.back();
  const std::size_t at = last.size();
  last += text;
  return std::string_view(last).substr(at);
}

void Vocabulary::add(std::string_view text, std::int32_t id, bool findable) {
  const std::string_view own = kept(text);
  if (id >= size()) texts_.resize(static_cast<std::size_t>(id) + 1);
  texts_[static_cast<std::size_t>(id)] = own;
  if (findable) ids_.insert_or_assign(own, id);
}

const std::vector<std::string>& byte_alphabet() {
  static const std::vector<std::string> alphabet = [] {
    std::vector<std::string> characters(256);
    const auto points = alphabet_points();
    for (std::size_t byte = 0; byte < points.size(); ++byte)
      append_utf8(characters[byte], points[byte]);
    return characters;
  }();
  return alphabet;
}

std::optional<std::string> bytes_of_alphabet(std::string_view text) {
  static const auto bytes = alphabet_bytes();
  std::string out;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const CodePoint c = code_point_at(at, end);
    if (c.value >= bytes.size() || bytes[c.value] < 0) return {};
    out.push_back(static_cast<char>(bytes[c.value]));
    at += c.bytes;
  }
  return out;
}

std::string in_byte_alphabet(std::string_view bytes) {
  std::string out;
  for (const unsigned char byte : bytes) out += byte_alphabet()[byte];
  return out;
}

int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    if (c >= '0' && c <= '9')
      value = value * 16 + (c - '0');
    else if (c >= 'A' && c <= 'F')
      value = value * 16 + (c - 'A' + 10);
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + (c - 'a' + 10);
    else
      return -1;
  }
  return value;
}

}  // namespace triax
