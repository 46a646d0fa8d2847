// SPDX-License-Identifier: Apache-2.0
#include "src/text/unicode/utf8_stream.hpp"

#include <algorithm>
#include <array>

#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";
constexpr std::size_t longest = 4;  // bytes of a character

// Whether `bytes`, which are no character, begin one: some bytes after them make them whole.
bool begins_character(std::string_view bytes) {
  if (bytes.empty() || bytes.size() >= longest) return false;
  // The second byte alone has more than one range; any later one may be 0x80.
  for (const char second : {'\x80', '\x90', '\xA0', '\xBF'}) {
    std::array<char, longest> whole{};
    std::ranges::copy(bytes, whole.begin());
    for (std::size_t i = bytes.size(); i < longest; ++i) whole[i] = i == 1 ? second : '\x80';
    if (code_point_at(whole.data(), whole.data() + longest).bytes > bytes.size()) return true;
  }
  return false;
}

}  // namespace

std::string Utf8Stream::next(std::string_view bytes) {
  held_ += bytes;
  std::string text;
  const char* at = held_.data();
  const char* const end = at + held_.size();
  while (at < end) {
    const CodePoint found = code_point_at(at, end);
    const bool whole = found.value != 0xFFFD || found.bytes > 1;
    if (!whole && begins_character({at, end})) break;
    if (whole)
      text.append(at, found.bytes);
    else
      text += replacement;
    at += found.bytes;
  }
  held_.erase(0, static_cast<std::size_t>(at - held_.data()));
  return text;
}

std::string Utf8Stream::rest() {
  std::string text;
  for (std::size_t i = 0; i < held_.size(); ++i) text += replacement;
  held_.clear();
  return text;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace triax
