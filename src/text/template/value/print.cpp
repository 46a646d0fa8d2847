// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/print.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

#include "src/text/template/value/nesting.hpp"
#include "src/text/unicode/classes.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

bool is_printable(char32_t c) {
  constexpr ClassMask hidden = classes::none | classes::space;
  return c == U' ' || (CharacterClasses::table().of(c) & hidden) == 0;
}

std::string hidden_character(char32_t c) {
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

void append_character(std::string& out, std::string_view character, char32_t c, char quote) {
  switch (c) {
    case U'\n':
      out += "\\n";
      return;
    case U'\r':
      out += "\\r";
      return;
    case U'\t':
      out += "\\t";
      return;
    case U'\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (c == static_cast<char32_t>(quote)) out += '\\';
  if (is_printable(c))
    out += character;
  else
    out += hidden_character(c);
}

std::string quoted(const std::string& text) {
  const bool single = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = single ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text.data() + at, text.data() + text.size());
    append_character(out, std::string_view(text).substr(at, c.bytes), c.value, quote);
    at += c.bytes;
  }
  return out + quote;
}

std::string list_text(const Value& value) {
  std::vector<std::string> items;
  for (const Value& item : value.items()) items.push_back(representation(item));
  const std::string inside = fmt::format("{}", fmt::join(items, ", "));
  if (value.view_name() != nullptr) return fmt::format("{}([{}])", value.view_name(), inside);
  if (!value.is_tuple()) return fmt::format("[{}]", inside);
  return fmt::format("({}{})", inside, items.size() == 1 ? "," : "");
}

std::string dict_text(const Dict& dict) {
  std::vector<std::string> entries;
  for (const auto& [key, value] : dict.entries())
    entries.push_back(fmt::format("{}: {}", representation(key), representation(value)));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> digits{};
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(digits.data(), end.ptr);
  if (plain && text.find('.') == text.npos) text += ".0";
  return text;
}

std::string print(const Value& value) {
  if (value.is_undefined()) return {};
  return value.is_text() ? value.text() : representation(value);
}

std::string representation(const Value& value) {
  const Nesting level;
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return value.truth() ? "True" : "False";
    case Kind::integer:
      return std::to_string(value.integer());
    case Kind::number:
      return float_text(value.number());
    case Kind::text:
      if (value.is_safe()) return fmt::format("Markup({})", quoted(value.text()));
      return quoted(value.text());
    case Kind::sequence:
      return list_text(value);
    case Kind::dict:
      return dict_text(value.dict());
    default:
      throw Fault(value.type_name() + " cannot be printed");
  }
}

}  // namespace triax::jinja
