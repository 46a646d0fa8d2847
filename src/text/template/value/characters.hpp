// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts by code points, as Python's str counts them. All positions and lengths are in code points
// unless they are said to be in bytes; texts are valid UTF-8.
#include <cstdint>
#include <string>
#include <string_view>

#include "src/text/template/value/value.hpp"

namespace triax::jinja {

std::int64_t length_of(std::string_view text);
/// Offset in bytes of code point `index`, 0 to length_of(text).
std::size_t byte_of(std::string_view text, std::int64_t index);
/// The code points as one text each.
List characters_of(std::string_view text);

/// str.isspace() of Python for one code point.
bool is_blank(char32_t c);
/// strip(): `characters` names the code points to take away; null: blanks.
std::string_view strip_left(std::string_view text, const std::string* characters);
std::string_view strip_right(std::string_view text, const std::string* characters);

/// Upper and lower case by the simple mappings of Unicode, and ß to SS.
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// First letter of the text large, the others small: str.capitalize().
std::string capitalize(std::string_view text);
/// First letter of each word large: str.title(). `apostrophe`: letters after ' stay small as in the
/// filter title, whose words are divided by blanks and -({[< only.
std::string title(std::string_view text);
std::string title_filter(std::string_view text);

}  // namespace triax::jinja
