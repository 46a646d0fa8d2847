// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/builtin/text_methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/text/template/builtin/parameters.hpp"
#include "src/text/template/builtin/text_splits.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/template/value/operators.hpp"
#include "src/text/template/value/print.hpp"
#include "src/text/unicode/classes.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

// A method: `self` is the text. Results are safe where it is.
using Method = Value (*)(const Value& self, const Arguments& arguments);

Value like(const Value& self, std::string text) {
  return Value::of(std::move(text), self.is_safe());
}

template <std::string (*change)(std::string_view)>
Value changed(const Value& self, const Arguments& arguments) {
  const Parameters given("the method", arguments, {}, 0);
  return like(self, change(self.text()));
}

template <bool left, bool right>
Value strip(const Value& self, const Arguments& arguments) {
  const Parameters given("strip", arguments, {"chars"}, 0);
  const bool blanks = !given.given(0) || given[0].is(Value::Kind::none);
  const std::string* const characters = blanks ? nullptr : &given.text(0);
  std::string_view text = self.text();
  if (left) text = strip_left(text, characters);
  if (right) text = strip_right(text, characters);
  return like(self, std::string(text));
}

// startswith and endswith, of a text or of one of a tuple.
template <bool at_start>
Value affix(const Value& self, const Arguments& arguments) {
  const Parameters given(at_start ? "startswith" : "endswith", arguments, {"text"}, 1);
  const auto fits = [&](const Value& affix) {
    if (!affix.is_text())
      throw Fault("startswith and endswith take a string; it is " + affix.type_name());
    return at_start ? self.text().starts_with(affix.text()) : self.text().ends_with(affix.text());
  };
  return Value::of(given[0].is_tuple() ? std::ranges::any_of(given[0].items(), fits)
                                       : fits(given[0]));
}

Value replace(const Value& self, const Arguments& arguments) {
  const Parameters given("replace", arguments, {"old", "new", "count"}, 2);
  return like(self, replaced(self.text(), given.text(0), given.text(1), given.integer(2, -1)));
}

std::int64_t position(const Value& self, const Arguments& arguments, bool last) {
  const Parameters given("find", arguments, {"text"}, 1);
  const std::size_t at = last ? self.text().rfind(given.text(0)) : self.text().find(given.text(0));
  return at == std::string::npos ? -1 : length_of(std::string_view(self.text()).substr(0, at));
}

template <bool last>
Value find(const Value& self, const Arguments& arguments) {
  return Value::of(position(self, arguments, last));
}

Value index(const Value& self, const Arguments& arguments) {
  const std::int64_t at = position(self, arguments, false);
  if (at < 0) throw Fault("index: the string does not have this text");
  return Value::of(at);
}

Value count(const Value& self, const Arguments& arguments) {
  const Parameters given("count", arguments, {"text"}, 1);
  const std::string& part = given.text(0);
  if (part.empty()) return Value::of(length_of(self.text()) + 1);
  std::int64_t found = 0;
  for (std::size_t at = 0; (at = self.text().find(part, at)) != std::string::npos;
       at += part.size())
    ++found;
  return Value::of(found);
}

Value join(const Value& self, const Arguments& arguments) {
  const Parameters given("join", arguments, {"iterable"}, 1);
  std::string out;
  bool first = true;
  for (const Value& item : items_of(given[0])) {
    if (!item.is_text()) throw Fault("join takes strings; an item is " + item.type_name());
    if (!std::exchange(first, false)) out += self.text();
    out += item.text();
    if (out.size() > largest_result) throw Fault("the joined text is too long");
  }
  return like(self, std::move(out));
}

template <ClassMask mask>
Value all_of(const Value& self, const Arguments& arguments) {
  const Parameters given("the method", arguments, {}, 0);
  const std::string& text = self.text();
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text.data() + at, text.data() + text.size());
    const bool blank = mask == classes::space && is_blank(c.value);
    if (!blank && (CharacterClasses::table().of(c.value) & mask) == 0) return Value::of(false);
    at += c.bytes;
  }
  return Value::of(!text.empty());
}

template <bool upper_case>
Value is_case(const Value& self, const Arguments& arguments) {
  const Parameters given("the method", arguments, {}, 0);
  const bool cased = upper(self.text()) != lower(self.text());
  return Value::of(cased && self.text() == (upper_case ? upper(self.text()) : lower(self.text())));
}

template <bool prefix>
Value remove_affix(const Value& self, const Arguments& arguments) {
  const Parameters given("removeprefix", arguments, {"text"}, 1);
  std::string_view text = self.text();
  if (prefix && text.starts_with(given.text(0))) text.remove_prefix(given.text(0).size());
  if (!prefix && text.ends_with(given.text(0))) text.remove_suffix(given.text(0).size());
  return like(self, std::string(text));
}

struct Row {
  const char* name;
  Method method;
};
constexpr std::array<Row, 29> methods = {{{"upper", changed<upper>},
                                          {"lower", changed<lower>},
                                          {"title", changed<title>},
                                          {"capitalize", changed<capitalize>},
                                          {"strip", strip<true, true>},
                                          {"lstrip", strip<true, false>},
                                          {"rstrip", strip<false, true>},
                                          {"split", split_from_left},
                                          {"rsplit", split_from_right},
                                          {"splitlines", split_lines},
                                          {"partition", partition_first},
                                          {"rpartition", partition_last},
                                          {"startswith", affix<true>},
                                          {"endswith", affix<false>},
                                          {"replace", replace},
                                          {"find", find<false>},
                                          {"rfind", find<true>},
                                          {"index", index},
                                          {"count", count},
                                          {"join", join},
                                          {"isdigit", all_of<classes::decimal>},
                                          {"isalpha", all_of<classes::letter>},
                                          {"isalnum", all_of<classes::letter | classes::number>},
                                          {"isspace", all_of<classes::space>},
                                          {"isupper", is_case<true>},
                                          {"islower", is_case<false>},
                                          {"removeprefix", remove_affix<true>},
                                          {"removesuffix", remove_affix<false>},
                                          {"isdecimal", all_of<classes::decimal>}}};

}  // namespace

Value text_method(const Value& text, const std::string& name) {
  for (const Row& row : methods)
    if (name == row.name)
      return Value::function(name, [text, method = row.method](Host&, const Arguments& arguments) {
        return method(text, arguments);
      });
  return Value::undefined(fmt::format("a string has no method '{}' here", name));
}

std::string replaced(const std::string& text, const std::string& old, const std::string& by,
                     std::int64_t count) {
  std::string out;
  std::size_t done = 0;
  while (count != 0 && done <= text.size()) {
    std::size_t at = text.find(old, done);
    if (at == std::string::npos) break;
    out.append(text, done, at - done) += by;
    if (out.size() > largest_result) throw Fault("the text with replacements is too long");
    done = at + old.size();
    if (old.empty()) {  // between all characters
      if (done == text.size()) return out;
      const std::size_t bytes = code_point_at(text.data() + done, text.data() + text.size()).bytes;
      out.append(text, done, bytes);
      done += bytes;
    }
    --count;
  }
  if (done < text.size()) out.append(text, done);
  return out;
}

}  // namespace triax::jinja
