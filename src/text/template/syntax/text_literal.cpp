// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/text_literal.hpp"

#include <fmt/format.h>

#include <charconv>

#include "kernels/base/utf8.hpp"
#include "src/text/template/value/fault.hpp"

namespace triax::jinja {
namespace {

// Appends the code point of up to `digits` digits at `at`, and moves `at` behind them.
void append_code(std::string& out, std::string_view text, std::size_t& at, std::size_t digits,
                 int base) {
  std::uint32_t code = 0;
  const std::string_view number = text.substr(at, digits);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), code, base);
  const auto used = static_cast<std::size_t>(end - number.data());
  if (error != std::errc{} || (base == 16 && used != digits) || code > 0x10FFFF ||
      (code >= 0xD800 && code < 0xE000))
    throw Fault(fmt::format("the escape \\{} names no character", text.substr(at - 1, digits + 1)));
  append_utf8(out, code);
  at += used;
}

// Appends the character of the escape whose letter is at `at`; moves `at` behind it.
void append_escape(std::string& out, std::string_view text, std::size_t& at) {
  constexpr std::string_view letters = "ntr\\'\"abfv";
  constexpr std::string_view characters = "\n\t\r\\'\"\a\b\f\v";
  const char letter = text[at];
  if (const std::size_t found = letters.find(letter); found != letters.npos) {
    out += characters[found];
    ++at;
    return;
  }
  if (letter >= '0' && letter <= '7') return append_code(out, text, at, 3, 8);
  ++at;
  switch (letter) {
    case '\n':
      return;
    case 'x':
      return append_code(out, text, at, 2, 16);
    case 'u':
      return append_code(out, text, at, 4, 16);
    case 'U':
      return append_code(out, text, at, 8, 16);
    case 'N':
      throw Fault("the escape \\N{name} is not supported; write the character itself");
    default:
      (out += '\\') += letter;
  }
}

}  // namespace

std::string text_of_literal(std::string_view inside) {
  std::string out;
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] != '\\' || at + 1 == inside.size()) {
      out += inside[at++];
      continue;
    }
    append_escape(out, inside, ++at);
  }
  return out;
}

}  // namespace triax::jinja
