// SPDX-License-Identifier: Apache-2.0
#include "io/documents/json_fields.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"

namespace triax {
namespace {

constexpr int deepest = 512;  // nested arrays and objects

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Value of a hexadecimal digit; -1: none.
int digit_of(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Whether one of the 8 bytes is a quote, a backslash or a control character ("Determine if a word
// has a byte less than n", Anderson, Bit Twiddling Hacks).
bool has_special_byte(std::uint64_t word) {
  constexpr std::uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
  const auto zero_byte = [&](std::uint64_t x) { return (x - ones) & ~x & highs; };
  return (zero_byte(word ^ ones * '"') | zero_byte(word ^ ones * '\\') |
          ((word - ones * 0x20) & ~word & highs)) != 0;
}

// Reads a line from left to right; a failed step leaves its problem.
class Scanner {
 public:
  explicit Scanner(std::string_view line) : line_(line) {}

  // The members of the object that is all of the line. `found(key, value)`: `key` as it stands
  // between its quotes; `value` likewise, or nothing for a value that is no string.
  template <class Found>
  bool object_line(Found found) {
    blanks();
    if (!is('{')) return fail("it is no JSON object");
    if (!members(0, found)) return false;
    blanks();
    return at_ == line_.size() || fail("there is text behind the object");
  }
  JsonProblem problem() { return std::move(problem_); }

 private:
  bool fail(std::string why) {
    problem_ = {at_, std::move(why)};
    return false;
  }
  bool is(char c) const { return at_ < line_.size() && line_[at_] == c; }
  bool take(char c) {
    if (!is(c)) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (at_ < line_.size() &&
           (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r' || line_[at_] == '\n'))
      ++at_;
  }

  template <class Found>
  bool members(int depth, Found& found) {
    ++at_;  // '{'
    blanks();
    if (take('}')) return true;
    do {
      blanks();
      std::string_view key;
      if (!is('"')) return fail("a key in quotes is missing");
      if (!string(key)) return false;
      blanks();
      if (!take(':')) return fail("a colon is missing");
      std::optional<std::string_view> text;
      if (!value(depth + 1, text)) return false;
      found(key, text);
      blanks();
    } while (take(','));
    return take('}') || fail("a comma or } is missing");
  }

  bool elements(int depth) {
    ++at_;  // '['
    blanks();
    if (take(']')) return true;
    std::optional<std::string_view> ignored;
    do {
      if (!value(depth + 1, ignored)) return false;
      blanks();
    } while (take(','));
    return take(']') || fail("a comma or ] is missing");
  }

  // Any value. `text`: its content if it is a string.
  bool value(int depth, std::optional<std::string_view>& text) {
    blanks();
    if (at_ == line_.size()) return fail("the line ends within the object");
    if (depth > deepest) return fail(fmt::format("values are nested more than {} times", deepest));
    switch (line_[at_]) {
      case '"':
        return string(text.emplace());
      case '{': {
        auto ignore = [](std::string_view, const auto&) {};
        return members(depth, ignore);
      }
      case '[':
        return elements(depth);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  bool word(std::string_view expected) {
    if (!line_.substr(at_).starts_with(expected)) return fail("a value is not valid");
    at_ += expected.size();
    return true;
  }

  std::size_t digits() {
    const std::size_t begin = at_;
    while (at_ < line_.size() && is_digit(line_[at_])) ++at_;
    return at_ - begin;
  }

  bool number() {
    take('-');
    const bool zero = is('0');
    const std::size_t whole = digits();
    if (whole == 0) return fail("a value is not valid");
    if (zero && whole > 1) return fail("a number begins with 0");
    if (take('.') && digits() == 0) return fail("a number has no digit behind its point");
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (digits() == 0) return fail("a number has no exponent");
    }
    return true;
  }

  void skip_plain() {
    for (std::uint64_t word = 0; at_ + sizeof word <= line_.size(); at_ += sizeof word) {
      std::memcpy(&word, line_.data() + at_, sizeof word);
      if (has_special_byte(word)) break;
    }
    while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\' &&
           static_cast<unsigned char>(line_[at_]) >= 0x20)
      ++at_;
  }

  // `content`: between the quotes.
  bool string(std::string_view& content) {
    const std::size_t begin = ++at_;
    while (true) {
      skip_plain();
      if (at_ == line_.size()) return fail("the line ends within a string");
      if (line_[at_] == '"') break;
      if (line_[at_] != '\\') return fail("a control character stands in a string unescaped");
      if (!escape()) return false;
    }
    content = line_.substr(begin, at_ - begin);
    ++at_;
    return true;
  }

  bool escape() {
    constexpr std::string_view known = "\"\\/bfnrtu";
    if (at_ + 1 >= line_.size()) return fail("the line ends within a string");
    const char kind = line_[at_ + 1];
    if (known.find(kind) == known.npos) return fail("an escape is not valid");
    if (kind == 'u') {
      const std::string_view hex = line_.substr(at_ + 2, 4);
      if (hex.size() < 4 || !std::ranges::all_of(hex, [](char c) { return digit_of(c) >= 0; }))
        return fail("an escape \\u has not four hexadecimal digits");
      at_ += 4;
    }
    at_ += 2;
    return true;
  }

  std::string_view line_;
  std::size_t at_ = 0;
  JsonProblem problem_;
};

char32_t code_at(std::string_view hex) {
  char32_t code = 0;
  for (const char c : hex.substr(0, 4)) code = code << 4 | static_cast<char32_t>(digit_of(c));
  return code;
}

char plain_escape(char kind) {
  switch (kind) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return kind;  // a quote, a backslash or a slash
  }
}

constexpr bool is_high_half(char32_t code) {
  return code >= 0xd800 && code < 0xdc00;
}
constexpr bool is_low_half(char32_t code) {
  return code >= 0xdc00 && code < 0xe000;
}

bool same_key(std::string_view raw, const std::string& key) {
  if (raw.find('\\') == raw.npos) return raw == key;
  std::string text;
  return !append_unescaped(raw, text) && text == key;
}

}  // namespace

JsonFields::JsonFields(std::vector<std::string> keys) : keys_(std::move(keys)) {}

std::optional<JsonProblem> JsonFields::scan(std::string_view line) {
  line_ = line;
  strings_.assign(keys_.size(), {});
  Scanner scanner(line);
  const bool valid =
      scanner.object_line([&](std::string_view key, std::optional<std::string_view> text) {
        for (std::size_t i = 0; i < keys_.size(); ++i)
          if (same_key(key, keys_[i])) strings_[i] = text.value_or(std::string_view());
      });
  if (!valid) return scanner.problem();
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (strings_[i].data() == nullptr)
      return JsonProblem{0, fmt::format("its object has no string \"{}\"", keys_[i])};
  return {};
}

std::optional<std::size_t> append_unescaped(std::string_view raw, std::string& out,
                                            std::size_t* replaced) {
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t plain = std::min(raw.find('\\', at), raw.size());
    out.append(raw.substr(at, plain - at));
    at = plain;
    if (at == raw.size()) break;
    if (raw[at + 1] != 'u') {
      out.push_back(plain_escape(raw[at + 1]));
      at += 2;
      continue;
    }
    const char32_t code = code_at(raw.substr(at + 2));
    const std::string_view rest = raw.substr(at + 6);
    const char32_t low =
        is_high_half(code) && rest.starts_with("\\u") ? code_at(rest.substr(2)) : 0;
    if (is_low_half(low)) {
      append_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
      at += 12;
      continue;
    }
    if (is_high_half(code) || is_low_half(code)) {
      if (replaced == nullptr) return at;
      ++*replaced;
      out.append(replacement_character);
    } else {
      append_utf8(out, code);
    }
    at += 6;
  }
  return {};
}

}  // namespace triax
