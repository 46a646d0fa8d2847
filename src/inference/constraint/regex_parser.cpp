// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/regex_parser.hpp"

#include <charconv>
#include <optional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

using Part = Regex::Part;
using Kind = Part::Kind;

constexpr int most_levels = 100;
constexpr std::int64_t most_repeats = 10'000;

CharacterSet digits() {
  return {'0', '9'};
}

CharacterSet words() {
  CharacterSet set = digits();
  set.add('A', 'Z');
  set.add('a', 'z');
  set.add('_', '_');
  return set;
}

CharacterSet spaces() {
  CharacterSet set{'\t', '\r'};
  set.add(' ', ' ');
  return set;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Part whole(bool& from_begin, bool& to_end) {
    from_begin = take('^');
    to_end = text_.ends_with('$') && !is_escaped(text_.size() - 1);
    if (to_end) text_.remove_suffix(1);
    Part all = either(0);
    if (at_ < text_.size()) fail("a ) without (");
    // With | outside of groups an anchor would hold for one branch alone.
    if (all.kind == Kind::either && (from_begin || to_end))
      fail("^ or $ beside | outside of a group, which is not built: write ^(?:a|b)$");
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(
        fmt::format("the regular expression \"{}\" has {} at character {}", text_, what, at_ + 1),
        {}, "Write it otherwise");
  }
  bool more() const { return at_ < text_.size(); }
  bool take(char c) {
    if (!more() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool is_escaped(std::size_t at) const {
    std::size_t slashes = 0;
    while (slashes < at && text_[at - 1 - slashes] == '\\') ++slashes;
    return slashes % 2 == 1;
  }

  Part either(int level) {
    if (level > most_levels) fail("too many groups within groups");
    Part all{.kind = Kind::either};
    do all.parts.push_back(sequence(level));
    while (take('|'));
    return all.parts.size() == 1 ? Part(std::move(all.parts.front())) : std::move(all);
  }

  Part sequence(int level) {
    Part all;
    while (more() && text_[at_] != '|' && text_[at_] != ')')
      all.parts.push_back(repeated(atom(level)));
    return all;
  }

  Part atom(int level) {
    const char c = text_[at_];
    if (c == '(') return group(level);
    if (c == '^' || c == '$') fail("an anchor in its middle, which is not built");
    if (c == '*' || c == '+' || c == '?' || c == '{') fail("a repetition of nothing");
    if (c == '[') return of(bracket());
    if (c == '.') {
      ++at_;
      return of(CharacterSet('\n', '\n').complement());
    }
    if (c == '\\') return of(escape());
    const char32_t one = character();
    return of({one, one});
  }

  static Part of(CharacterSet set) { return {.kind = Kind::set, .set = std::move(set)}; }

  Part group(int level) {
    ++at_;
    if (take('?')) {
      const bool named = text_.substr(at_).starts_with("P<") ||
                         (text_.substr(at_).starts_with("<") && at_ + 1 < text_.size() &&
                          text_[at_ + 1] != '=' && text_[at_ + 1] != '!');
      if (named) {
        const std::size_t end = text_.find('>', at_);
        if (end == text_.npos) fail("a group whose name does not end");
        at_ = end + 1;
      } else if (!take(':')) {
        fail("a lookaround or a flag, which is not built,");
      }
    }
    Part inner = either(level + 1);
    if (!take(')')) fail("a ( without )");
    return inner;
  }

  Part repeated(Part part) {
    while (more()) {
      std::int64_t least = 0, most = -1;
      if (take('*')) {
      } else if (take('+')) {
        least = 1;
      } else if (take('?')) {
        most = 1;
      } else if (text_[at_] == '{') {
        counts(least, most);
      } else {
        break;
      }
      take('?');  // lazy: the same texts
      Part all{.kind = Kind::repeat, .least = least, .most = most};
      all.parts.push_back(std::move(part));
      part = std::move(all);
    }
    return part;
  }

  void counts(std::int64_t& least, std::int64_t& most) {
    ++at_;
    const auto low = number();
    least = low.value_or(0);
    most = least;
    if (take(','))
      most = number().value_or(-1);
    else if (!low)
      fail("a repetition without a number");
    if (!take('}')) fail("a { without }");
    if (most >= 0 && most < least) fail("a repetition from more to fewer");
    if (std::max(least, most) > most_repeats)
      fail(fmt::format("a repetition of more than {} times", most_repeats));
  }

  std::optional<std::int64_t> number() {
    std::int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return {};
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  // One character of UTF-8.
  char32_t character() {
    const auto lead = static_cast<unsigned char>(text_[at_++]);
    const int tails = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t value = tails == 0 ? lead : lead & (0x3FU >> static_cast<unsigned>(tails));
    for (int i = 0; i < tails; ++i) {
      if (!more()) fail("half a character");
      value = value << 6U | (static_cast<unsigned char>(text_[at_++]) & 0x3FU);
    }
    return value;
  }

  char32_t hexadecimal(std::size_t count) {
    unsigned value = 0;
    const char* const begin = text_.data() + at_;
    if (at_ + count > text_.size() ||
        std::from_chars(begin, begin + count, value, 16).ptr != begin + count)
      fail("an escape without its hexadecimal digits");
    at_ += count;
    return value;
  }

  CharacterSet escape() {
    ++at_;
    if (!more()) fail("a \\ at its end");
    const char c = text_[at_];
    const auto one = [](char32_t of) { return CharacterSet(of, of); };
    ++at_;
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return digits().complement();
      case 'w':
        return words();
      case 'W':
        return words().complement();
      case 's':
        return spaces();
      case 'S':
        return spaces().complement();
      case 'n':
        return one('\n');
      case 't':
        return one('\t');
      case 'r':
        return one('\r');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      case 'x':
        return one(hexadecimal(2));
      case 'u':
        return one(hexadecimal(4));
      default:
        break;
    }
    --at_;
    if (words().has(static_cast<unsigned char>(c)))
      fail(fmt::format("the escape \\{}, which is not built,", c));
    return one(character());
  }

  CharacterSet bracket() {
    ++at_;
    const bool opposite = take('^');
    CharacterSet set;
    for (bool first = true; first || (more() && text_[at_] != ']'); first = false) {
      if (!more()) break;
      const CharacterSet low = member();
      const bool range = at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']';
      if (!range) {
        set.add(low);
        continue;
      }
      ++at_;
      const auto begin = low.only(), end = member().only();
      if (!begin || !end || *end < *begin) fail("a range in [] that is none");
      set.add(*begin, *end);
    }
    if (!take(']')) fail("a [ without ]");
    if (opposite) set = set.complement();
    if (set.empty()) fail("a [] without a character");
    return set;
  }

  CharacterSet member() {
    if (text_[at_] == '\\') return text_.substr(at_).starts_with("\\b") ? backspace() : escape();
    const char32_t one = character();
    return {one, one};
  }
  CharacterSet backspace() {
    at_ += 2;
    return {'\b', '\b'};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Regex::Part parse_regex(std::string_view text, bool& from_begin, bool& to_end) {
  return Parser(text).whole(from_begin, to_end);
}

}  // namespace triax
