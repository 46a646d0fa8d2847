// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/value/to_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/text/template/value/compare.hpp"
#include "src/text/template/value/nesting.hpp"
#include "src/text/template/value/print.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

using Kind = Value::Kind;

void append_unit(std::string& out, std::uint32_t unit) {
  out += fmt::format("\\u{:04x}", unit);
}

void append_escaped(std::string& out, char32_t c) {
  const auto code = static_cast<std::uint32_t>(c);
  if (code < 0x10000) return append_unit(out, code);
  append_unit(out, 0xD800 + ((code - 0x10000) >> 10));
  append_unit(out, 0xDC00 + ((code - 0x10000) & 0x3FFU));
}

void append_character(std::string& out, std::string_view character, char32_t c, bool ascii) {
  switch (c) {
    case U'"':
      out += "\\\"";
      return;
    case U'\\':
      out += "\\\\";
      return;
    case U'\n':
      out += "\\n";
      return;
    case U'\r':
      out += "\\r";
      return;
    case U'\t':
      out += "\\t";
      return;
    case U'\f':
      out += "\\f";
      return;
    case U'\b':
      out += "\\b";
      return;
    default:
      break;
  }
  if (c < 0x20 || (ascii && c > 0x7E))
    append_escaped(out, c);
  else
    out += character;
}

void append_text(std::string& out, const std::string& text, bool ascii) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text.data() + at, text.data() + text.size());
    append_character(out, std::string_view(text).substr(at, c.bytes), c.value, ascii);
    at += c.bytes;
  }
  out += '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_text(value);
}

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    const Nesting level;
    switch (value.kind()) {
      case Kind::none:
        out += "null";
        return;
      case Kind::boolean:
        out += value.truth() ? "true" : "false";
        return;
      case Kind::integer:
        out += std::to_string(value.integer());
        return;
      case Kind::number:
        out += number_text(value.number());
        return;
      case Kind::text:
        return append_text(out, value.text(), style_.ascii);
      case Kind::sequence:
        if (value.view_name() != nullptr)
          throw Fault("tojson: JSON has no value for this; use the filter list");
        return write_list(value.items());
      case Kind::dict:
        return write_dict(value.dict());
      default:
        throw Fault("tojson: JSON has no value for this (" + value.type_name() + ")");
    }
  }

  std::string out;

 private:
  void new_line() {
    if (!style_.lines) return;
    out += '\n';
    for (int level = 0; level < depth_; ++level) out += style_.indent;
  }

  // Writes `size` items between brackets.
  template <class Each>
  void write_items(char open, char close, std::size_t size, Each each) {
    out += open;
    ++depth_;
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out += style_.between;
      new_line();
      each(i);
    }
    --depth_;
    if (size > 0) new_line();
    out += close;
  }

  void write_list(const List& items) {
    write_items('[', ']', items.size(), [&](std::size_t i) { write(items[i]); });
  }

  void write_key(const Value& key) {
    if (key.is_text()) return append_text(out, key.text(), style_.ascii);
    if (!key.is_numeric() && !key.is(Kind::none))
      throw Fault("tojson: JSON has no such key (" + key.type_name() + ")");
    out += '"';
    write(key);
    out += '"';
  }

  void write_dict(const Dict& dict) {
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sorted)
      std::ranges::stable_sort(entries, less, [](const Dict::Entry* e) { return e->first; });
    write_items('{', '}', entries.size(), [&](std::size_t i) {
      write_key(entries[i]->first);
      out += style_.key;
      write(entries[i]->second);
    });
  }

  const JsonStyle& style_;
  int depth_ = 0;
};

}  // namespace

std::string to_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value);
  return std::move(writer.out);
}

}  // namespace triax::jinja
