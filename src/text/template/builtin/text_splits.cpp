// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/text_splits.hpp"

#include <algorithm>
#include <string>

#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

using Pieces = std::vector<std::string_view>;

Value as_list(const Value& self, const Pieces& pieces) {
  List items;
  for (const std::string_view piece : pieces)
    items.push_back(Value::of(std::string(piece), self.is_safe()));
  return Value::list(std::move(items));
}

// Length in bytes of the text up to the first blank, from the left or from the right.
std::size_t word_length(std::string_view text, bool right) {
  std::size_t length = 0;
  while (length < text.size()) {
    const char* const end = text.data() + text.size();
    const char* const at =
        right ? previous_code_point(text.data(), end - length) : text.data() + length;
    const CodePoint c = code_point_at(at, end);
    if (is_blank(c.value)) break;
    length += c.bytes;
  }
  return length;
}

Pieces split_words(std::string_view text, std::int64_t most, bool right) {
  Pieces pieces;
  const auto strip = [&] { text = right ? strip_right(text, nullptr) : strip_left(text, nullptr); };
  for (strip(); !text.empty(); strip()) {
    if (most-- == 0) {
      pieces.push_back(text);  // with the blanks on its other side
      break;
    }
    const std::size_t length = word_length(text, right);
    pieces.push_back(right ? text.substr(text.size() - length) : text.substr(0, length));
    right ? text.remove_suffix(length) : text.remove_prefix(length);
  }
  return pieces;
}

Pieces split_at(std::string_view text, std::string_view separator, std::int64_t most, bool right) {
  Pieces pieces;
  for (; most != 0; --most) {
    const std::size_t at = right ? text.rfind(separator) : text.find(separator);
    if (at == text.npos) break;
    const std::string_view behind = text.substr(at + separator.size());
    pieces.push_back(right ? behind : text.substr(0, at));
    text = right ? text.substr(0, at) : behind;
  }
  pieces.push_back(text);
  return pieces;
}

Value split(const Value& self, const Arguments& arguments, bool right) {
  const Parameters given(right ? "rsplit" : "split", arguments, {"sep", "maxsplit"}, 0);
  const std::int64_t most = given.integer(1, -1);
  Pieces pieces;
  if (!given.given(0) || given[0].is(Value::Kind::none)) {
    pieces = split_words(self.text(), most, right);
  } else {
    if (given.text(0).empty()) throw Fault("split: the separator is empty");
    pieces = split_at(self.text(), given.text(0), most, right);
  }
  if (right) std::ranges::reverse(pieces);
  return as_list(self, pieces);
}

Value partition(const Value& self, const Arguments& arguments, bool last) {
  const Parameters given("partition", arguments, {"sep"}, 1);
  const std::string& text = self.text();
  const std::string& separator = given.text(0);
  if (separator.empty()) throw Fault("partition: the separator is empty");
  const std::size_t at = last ? text.rfind(separator) : text.find(separator);
  const bool safe = self.is_safe();
  if (at == std::string::npos) {
    const Value nothing = Value::of(std::string(), safe);
    return last ? Value::tuple({nothing, nothing, self}) : Value::tuple({self, nothing, nothing});
  }
  return Value::tuple({Value::of(text.substr(0, at), safe), Value::of(separator, safe),
                       Value::of(text.substr(at + separator.size()), safe)});
}

bool ends_line(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

Value split_from_left(const Value& self, const Arguments& arguments) {
  return split(self, arguments, false);
}

Value split_from_right(const Value& self, const Arguments& arguments) {
  return split(self, arguments, true);
}

Value split_lines(const Value& self, const Arguments& arguments) {
  const Parameters given("splitlines", arguments, {"keepends"}, 0);
  return as_list(self, text_lines(self.text(), given.flag(0, false)));
}

Value partition_first(const Value& self, const Arguments& arguments) {
  return partition(self, arguments, false);
}

Value partition_last(const Value& self, const Arguments& arguments) {
  return partition(self, arguments, true);
}

std::vector<std::string_view> text_lines(std::string_view text, bool keep_ends) {
  Pieces lines;
  std::size_t begin = 0, at = 0;
  while (at < text.size()) {
    const CodePoint c = code_point_at(text.data() + at, text.data() + text.size());
    const std::size_t line_end = at;
    at += c.bytes;
    if (!ends_line(c.value)) continue;
    if (c.value == U'\r' && at < text.size() && text[at] == '\n') ++at;
    lines.push_back(text.substr(begin, (keep_ends ? at : line_end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

}  // namespace triax::jinja
