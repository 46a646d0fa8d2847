// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <array>
#include <optional>

#include "kernels/base/check.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

// White_Space: PCRE2's \s has U+180E as well.
constexpr const char* white_space =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// Parts that Oniguruma's Ruby syntax and PCRE2 read differently.
constexpr std::array<std::string_view, 12> other_meaning = {
    "\\h", "\\H", "\\Z", "\\G", "\\K", "\\X", "\\R", "\\g", "\\k", "(?m", "&&", "[[:"};

UsageError refusal(const std::string& pattern, const std::string& where, const std::string& why) {
  return UsageError(
      fmt::format("{}: this pattern cannot be run as its tokenizer means it: {}", where, pattern),
      why, "Use a tokenizer whose pattern has no such part");
}

// The pattern with \s and \S of Unicode's White_Space.
std::string translated(const std::string& pattern, const std::string& where) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = std::string_view(pattern).substr(i);
    for (const std::string_view part : other_meaning)
      if (rest.starts_with(part))
        throw refusal(pattern, where, fmt::format("\"{}\" differs between libraries", part));
    if (rest.starts_with("\\s")) {
      out += in_class ? white_space : fmt::format("[{}]", white_space);
      ++i;
    } else if (rest.starts_with("\\S")) {
      if (in_class) throw refusal(pattern, where, "\\S within brackets");
      out += fmt::format("[^{}]", white_space);
      ++i;
    } else if (rest.starts_with("\\") && rest.size() > 1) {
      out += rest.substr(0, 2);
      ++i;
    } else {
      const char c = rest.front();
      const bool anchor = !in_class && (c == '$' || c == '^');
      if (anchor || (in_class && c == '['))
        throw refusal(pattern, where, fmt::format("\"{}\" differs between libraries", c));
      if (c == '[') {
        in_class = true;
        out += rest.starts_with("[^") ? "[^" : "[";
        if (rest.starts_with("[^")) ++i;
        continue;
      }
      if (c == ']') in_class = false;
      out += c;
    }
  }
  return out;
}

class RegexSplitter final : public Splitter {
 public:
  RegexSplitter(const std::string& pattern, const std::string& where) : where_(where) {
    const std::string text = translated(pattern, where);
    int code = 0;
    PCRE2_SIZE at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_UCP, &code, &at, nullptr));
    if (!code_) {
      std::array<PCRE2_UCHAR, 256> message{};
      pcre2_get_error_message(code, message.data(), message.size());
      throw refusal(pattern, where, reinterpret_cast<const char*>(message.data()));
    }
    pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without it, it is only slower
  }

  std::size_t split(std::string_view text, std::size_t at, std::size_t limit,
                    std::vector<Cut>& cuts) const override {
    const Freed<pcre2_match_data, pcre2_match_data_free> data(
        pcre2_match_data_create_from_pattern(code_.get(), nullptr));
    std::size_t search = at;
    while (at < text.size() && cuts.size() < limit) {
      const std::optional<Match> match = find(text, search, data.get());
      const std::size_t start = match ? match->begin : text.size();
      if (start > at) cuts.push_back({start, false});
      at = start;
      if (!match) break;
      if (match->end > match->begin) {
        cuts.push_back({match->end, true});
        at = search = match->end;
      } else if (at < text.size()) {  // an empty match only cuts
        search = at + code_point_at(text.data() + at, text.data() + text.size()).bytes;
      }
    }
    return at;
  }

 private:
  template <class T, void (*free)(T*)>
  struct Freeing {
    void operator()(T* pointer) const { free(pointer); }
  };
  template <class T, void (*free)(T*)>
  using Freed = std::unique_ptr<T, Freeing<T, free>>;
  struct Match {
    std::size_t begin, end;
  };

  std::optional<Match> find(std::string_view text, std::size_t from, pcre2_match_data* data) const {
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                  text.size(), from, PCRE2_NO_UTF_CHECK, data, nullptr);
    if (found == PCRE2_ERROR_NOMATCH) return {};
    if (found < 0)
      throw Error(fmt::format("{}: PCRE2 gave up on a text of {} bytes", where_, text.size()),
                  fmt::format("error {}", found), "Split the text into shorter documents");
    const PCRE2_SIZE* const ends = pcre2_get_ovector_pointer(data);
    return Match{ends[0], ends[1]};
  }

  std::string where_;
  Freed<pcre2_code, pcre2_code_free> code_;
};

}  // namespace

std::shared_ptr<const Splitter> regex_splitter(const std::string& pattern,
                                               const std::string& where) {
  return std::make_shared<RegexSplitter>(pattern, where);
}

}  // namespace triax
