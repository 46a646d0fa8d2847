// SPDX-License-Identifier: Apache-2.0
#include "src/text/template/syntax/lexer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "kernels/base/utf8.hpp"
#include "src/text/template/syntax/text_literal.hpp"
#include "src/text/template/value/characters.hpp"
#include "src/text/unicode/classes.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax::jinja {
namespace {

using Kind = Token::Kind;

// Two characters before one, so that the longest symbol is found.
constexpr std::array symbols = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(const Source& source) : source_(source), text_(source.text) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) scan_data();
    add(Kind::end, {}, at_);
    return std::move(tokens_);
  }

 private:
  void add(Kind kind, std::string text, std::size_t at) {
    tokens_.push_back({.kind = kind, .text = std::move(text), .at = at});
  }

  UsageError error(std::size_t at, const std::string& what) const {
    return template_error(source_, at, what);
  }

  bool has(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void skip_blanks() { at_ = text_.size() - strip_left(text_.substr(at_), nullptr).size(); }

  // Text to the next tag, and the tag.
  void scan_data() {
    std::size_t tag = at_;
    for (;; ++tag) {
      tag = text_.find('{', tag);
      if (tag == text_.npos || tag + 1 == text_.size())
        return add_data(text_.substr(at_), text_.size());
      if (const char c = text_[tag + 1]; c == '%' || c == '{' || c == '#') break;
    }
    const char kind = text_[tag + 1];
    const char sign = tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    add_data(before_tag(text_.substr(at_, tag - at_), kind, sign), tag);
    at_ = tag + (sign == '-' || sign == '+' ? 3 : 2);
    if (kind == '#') return skip_comment(tag);
    add(kind == '%' ? Kind::block_begin : Kind::print_begin, {}, tag);
    scan_tag(kind == '%', tag);
  }

  void add_data(std::string_view data, std::size_t next) {
    if (!data.empty()) add(Kind::data, std::string(data), at_);
    at_ = next;
  }

  // `data` without the blanks that the tag after it takes away.
  std::string_view before_tag(std::string_view data, char kind, char sign) const {
    if (sign == '-') return strip_right(data, nullptr);
    if (sign == '+' || kind == '{') return data;
    const std::size_t newline = data.rfind('\n');
    const bool line_begins = newline != data.npos || at_ == 0 || text_[at_ - 1] == '\n';
    const std::size_t line = newline == data.npos ? 0 : newline + 1;
    const bool blank = strip_left(data.substr(line), nullptr).empty();
    return line_begins && blank ? data.substr(0, line) : data;
  }

  void skip_comment(std::size_t tag) {
    const std::size_t end = text_.find("#}", at_);
    if (end == text_.npos) throw error(tag, "the comment has no end #}");
    const char sign = end > at_ ? text_[end - 1] : '\0';
    at_ = end + 2;
    after_tag(sign, true);
  }

  // Skips blanks behind a tag whose end has this sign.
  void after_tag(char sign, bool trims_newline) {
    if (sign == '-') return skip_blanks();
    if (trims_newline && sign != '+' && has("\n")) ++at_;
  }

  // Whether the tag ends here, which is inside of no bracket.
  bool scan_end(bool block) {
    const std::string_view end = block ? "%}" : "}}";
    const char first = text_[at_];
    const bool sign = first == '-' || (block && first == '+');
    if (!text_.substr(at_ + (sign ? 1 : 0)).starts_with(end)) return false;
    add(block ? Kind::block_end : Kind::print_end, {}, at_);
    at_ += sign ? 3 : 2;
    after_tag(sign ? first : '\0', block);
    return true;
  }

  void scan_tag(bool block, std::size_t tag) {
    brackets_.clear();
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      if (brackets_.empty() && scan_end(block)) return;
      scan_token();
    }
    throw error(tag, block ? "the block has no end %}" : "the expression has no end }}");
  }

  void scan_token() {
    const char c = text_[at_];
    if (is_digit(c)) return scan_number();
    if (c == '\'' || c == '"') return scan_text();
    const CodePoint point = code_point_at(text_.data() + at_, text_.data() + text_.size());
    if (is_word_character(point.value)) return scan_name();
    scan_symbol();
  }

  void scan_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      const CodePoint c = code_point_at(text_.data() + at_, text_.data() + text_.size());
      if (!is_word_character(c.value)) break;
      at_ += c.bytes;
    }
    add(Kind::name, std::string(text_.substr(begin, at_ - begin)), begin);
  }

  void scan_text() {
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != text_[begin]) at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) throw error(begin, "the text has no end quote");
    const std::string_view inside = text_.substr(begin + 1, at_ - begin - 1);
    try {
      add(Kind::text, text_of_literal(inside), begin);
    } catch (const Fault& fault) {
      throw error(begin, fault.what());
    }
    ++at_;
  }

  // Digits with single underscores between them.
  std::string digits() {
    std::string found;
    for (; at_ < text_.size(); ++at_) {
      const bool joins =
          text_[at_] == '_' && !found.empty() && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
      if (!is_digit(text_[at_]) && !joins) break;
      if (!joins) found += text_[at_];
    }
    return found;
  }

  bool digit_at(std::size_t at) const { return at < text_.size() && is_digit(text_[at]); }

  bool exponent_follows() const {
    if (at_ >= text_.size() || (text_[at_] != 'e' && text_[at_] != 'E')) return false;
    const bool sign = at_ + 1 < text_.size() && (text_[at_ + 1] == '+' || text_[at_ + 1] == '-');
    return digit_at(at_ + (sign ? 2 : 1));
  }

  void scan_number() {
    const std::size_t begin = at_;
    const bool after_dot = begin > 0 && text_[begin - 1] == '.';
    std::string number = digits();
    bool whole = true;
    if (!after_dot && has(".") && digit_at(at_ + 1)) {
      ++at_;
      number += '.';
      number += digits();
      whole = false;
    }
    if (!after_dot && exponent_follows()) {
      number += text_[at_++];
      if (!is_digit(text_[at_])) number += text_[at_++];
      number += digits();
      whole = false;
    }
    Token token{.kind = whole ? Kind::integer : Kind::number, .text = number, .at = begin};
    const char* const end = number.data() + number.size();
    const auto result = whole ? std::from_chars(number.data(), end, token.integer)
                              : std::from_chars(number.data(), end, token.number);
    if (result.ec != std::errc{} || result.ptr != end)
      throw error(begin, fmt::format("the number {} is out of range", number));
    tokens_.push_back(std::move(token));
  }

  void scan_symbol() {
    const auto* const symbol = std::ranges::find_if(symbols, [&](const char* s) { return has(s); });
    if (symbol == symbols.end())
      throw error(at_, fmt::format("unexpected character '{}'", text_[at_]));
    const std::string_view text = *symbol;
    const std::string_view opens = "([{", closes = ")]}";
    if (opens.find(text) != opens.npos) brackets_ += closes[opens.find(text)];
    if (closes.find(text) != closes.npos) {
      if (brackets_.empty() || brackets_.back() != text[0])
        throw error(
            at_,
            fmt::format("unexpected '{}'{}", text,
                        brackets_.empty() ? "" : fmt::format(", '{}' is open", brackets_.back())));
      brackets_.pop_back();
    }
    add(Kind::symbol, std::string(text), at_);
    at_ += text.size();
  }

  const Source& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string brackets_;  // closing brackets that are awaited, the next one last
  std::vector<Token> tokens_;
};

}  // namespace

Source normalized_source(std::string name, std::string_view text) {
  if (!is_utf8(text)) throw UsageError(name + " is not UTF-8", {}, "Fetch the file again");
  Source source{.name = std::move(name), .text = {}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!pair) source.text += text[i] == '\r' ? '\n' : text[i];
  }
  if (source.text.ends_with('\n')) source.text.pop_back();
  return source;
}

std::vector<Token> tokens_of(const Source& source) {
  return Lexer(source).run();
}

}  // namespace triax::jinja
