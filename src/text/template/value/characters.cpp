// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/characters.hpp"

#include <utf8proc.h>

#include <algorithm>

#include "kernels/base/utf8.hpp"
#include "src/text/unicode/classes.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

constexpr char32_t sharp_s = 0xDF;

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

CodePoint first_of(std::string_view text) {
  return code_point_at(text.data(), text.data() + text.size());
}

CodePoint last_of(std::string_view text) {
  const char* const end = text.data() + text.size();
  return code_point_at(previous_code_point(text.data(), end), end);
}

bool is_stripped(char32_t c, std::string_view character, const std::string* characters) {
  return characters == nullptr ? is_blank(c) : characters->find(character) != std::string::npos;
}

void append_upper(std::string& out, char32_t c) {
  if (c == sharp_s) return void(out += "SS");
  append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

void append_title(std::string& out, char32_t c) {
  if (c == sharp_s) return void(out += "Ss");
  append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
}

void append_lower(std::string& out, char32_t c) {
  append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

template <class Each>
std::string each_character(std::string_view text, Each each) {
  std::string out;
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    each(out, c.value);
    text.remove_prefix(c.bytes);
  }
  return out;
}

bool has_case(char32_t c) {
  constexpr ClassMask cased = classes::upper | classes::lower | classes::title;
  return (CharacterClasses::table().of(c) & cased) != 0;
}

}  // namespace

std::int64_t length_of(std::string_view text) {
  return std::ranges::count_if(text, begins_character);
}

std::size_t byte_of(std::string_view text, std::int64_t index) {
  std::size_t at = 0;
  for (; at < text.size() && (index > 0 || !begins_character(text[at])); ++at)
    if (begins_character(text[at])) --index;
  return at;
}

List characters_of(std::string_view text) {
  List characters;
  while (!text.empty()) {
    const std::size_t bytes = first_of(text).bytes;
    characters.push_back(Value::of(std::string(text.substr(0, bytes))));
    text.remove_prefix(bytes);
  }
  return characters;
}

bool is_blank(char32_t c) {
  return (CharacterClasses::table().of(c) & classes::space) != 0 || (c >= 0x1C && c <= 0x1F);
}

std::string_view strip_left(std::string_view text, const std::string* characters) {
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    if (!is_stripped(c.value, text.substr(0, c.bytes), characters)) break;
    text.remove_prefix(c.bytes);
  }
  return text;
}

std::string_view strip_right(std::string_view text, const std::string* characters) {
  while (!text.empty()) {
    const CodePoint c = last_of(text);
    if (!is_stripped(c.value, text.substr(text.size() - c.bytes), characters)) break;
    text.remove_suffix(c.bytes);
  }
  return text;
}

std::string upper(std::string_view text) {
  return each_character(text, append_upper);
}

std::string lower(std::string_view text) {
  return each_character(text, append_lower);
}

std::string capitalize(std::string_view text) {
  return each_character(text, [first = true](std::string& out, char32_t c) mutable {
    first ? append_title(out, c) : append_lower(out, c);
    first = false;
  });
}

std::string title(std::string_view text) {
  return each_character(text, [inside = false](std::string& out, char32_t c) mutable {
    inside ? append_lower(out, c) : append_title(out, c);
    inside = has_case(c);
  });
}

std::string title_filter(std::string_view text) {
  return each_character(text, [first = true](std::string& out, char32_t c) mutable {
    const bool divides =
        is_blank(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
    first ? append_upper(out, c) : append_lower(out, c);
    first = divides;
  });
}

}  // namespace triax::jinja
