// SPDX-License-Identifier: Apache-2.0
#include "src/text/split/families.hpp"

#include <array>

#include "src/text/split/scanner.hpp"

namespace triax {
namespace {

// GPT-2, r50k, p50k.
struct Gpt2 {
  static const char* match(const ScannedText& text, const char* at) {
    if (*at == '\'')
      if (const char* end = contraction(text, at); end != at && is_plain(at, end)) return end;
    const char* start = *at == ' ' ? at + 1 : at;
    const ClassMask mask = text.mask_at(start);
    for (const ClassMask run : {classes::letter, classes::number, classes::not_letter_number_space})
      if ((mask & run) != 0) return text.run(start, run);
    return blanks(text, at, text.run(at, classes::space));
  }

 private:
  // The pattern has contractions in lower case only.
  static bool is_plain(const char* at, const char* end) {
    for (++at; at != end; ++at)
      if (*at < 'a' || *at > 'z') return false;
    return true;
  }
};

// Llama-3, Qwen2, Qwen3.5, cl100k: an optional character before the letters of a word, at most
// `digits` digits, the newlines after punctuation.
template <ClassMask letters, std::size_t digits, bool end_whole>
struct Words {
  static const char* match(const ScannedText& text, const char* at) {
    const auto c = text.at(at);
    if ((c.mask & letters) != 0) return text.run(at + c.bytes, letters);
    if (*at == '\'')
      if (const char* end = contraction(text, at); end != at) return end;
    if ((c.mask & classes::number) != 0) return text.run(at + c.bytes, classes::number, digits - 1);
    const char* const after = at + c.bytes;
    const ClassMask next = text.mask_at(after);
    if ((c.mask & classes::newline) == 0 && (next & letters) != 0) return text.run(after, letters);
    constexpr ClassMask marks = classes::not_letter_number_space & ~letters;
    if ((c.mask & marks) != 0 || (*at == ' ' && (next & marks) != 0))
      return text.run(text.run(after, marks), classes::newline);
    return lines_and_blanks<end_whole>(text, at);
  }
};

// Tekken, o200k: words also end where lower case goes over to upper case.
template <std::size_t digits, bool contractions>
struct CasedWords {
  static constexpr ClassMask both = classes::modifier | classes::other_letter | classes::mark;
  static constexpr ClassMask first = classes::upper | classes::title | both;
  static constexpr ClassMask second = classes::lower | both;

  static const char* match(const ScannedText& text, const char* at) {
    const auto c = text.at(at);
    const char* const after = at + c.bytes;
    if (const char* end = word(text, at, c); end != at)
      return contractions ? contraction(text, end) : end;
    if ((c.mask & classes::number) != 0) return text.run(after, classes::number, digits - 1);
    constexpr ClassMask marks = classes::not_letter_number_space;
    if ((c.mask & marks) != 0 || (*at == ' ' && (text.mask_at(after) & marks) != 0)) {
      const char* end = text.run(after, marks);
      while (end < text.end && (*end == '\r' || *end == '\n' || *end == '/')) ++end;
      return end;
    }
    return lines_and_blanks<false>(text, at);
  }

 private:
  // The two branches of a word, each with and then without a character before it.
  static const char* word(const ScannedText& text, const char* at, ScannedText::Character c) {
    const bool prefix = (c.mask & (classes::newline | classes::letter | classes::number)) == 0;
    const char* const after = at + c.bytes;
    for (const auto branch : {ends_lower, ends_upper}) {
      if (prefix)
        if (const char* end = branch(text, after); end != after) return end;
      if (const char* end = branch(text, at); end != at) return end;
    }
    return at;
  }
  // first* second+: where the greedy first* leaves no second, it gives back to the last one.
  static const char* ends_lower(const ScannedText& text, const char* at) {
    const char* last = at;  // end of the last character of both
    const char* p = at;
    while (p < text.end) {
      const auto c = text.at(p);
      if ((c.mask & first) == 0) break;
      p += c.bytes;
      if ((c.mask & second) != 0) last = p;
    }
    const char* const end = text.run(p, second);
    return end != p ? end : last;
  }
  static const char* ends_upper(const ScannedText& text, const char* at) {
    const char* const end = text.run(at, first);
    return end != at ? text.run(end, second) : at;
  }
};

// Runs of one class, at most `most` characters.
template <ClassMask mask, std::size_t most>
struct Run {
  static const char* match(const ScannedText& text, const char* at) {
    return text.run(at, mask, most);
  }
};

// The second and the third pattern of DeepSeek-V3, which come after digits.
struct DeepSeekIdeographs {
  static const char* match(const ScannedText& text, const char* at) {
    while (at < text.end && *at < 0) {
      const CodePoint c = code_point_at(at, text.end);
      if (!((c.value >= 0x4E00 && c.value <= 0x9FA5) || (c.value >= 0x3040 && c.value <= 0x30FF)))
        break;
      at += c.bytes;
    }
    return at;
  }
};
struct DeepSeekWords {
  static const char* match(const ScannedText& text, const char* at) {
    constexpr ClassMask letters = classes::letter | classes::mark;
    constexpr ClassMask signs = classes::punctuation | classes::symbol;
    const auto c = text.at(at);
    const char* const after = at + c.bytes;
    if ((c.mask & letters) != 0) return text.run(after, letters);
    if (c.bytes == 1 && (c.mask & signs) != 0 && after < text.end && is_ascii_letter(*after)) {
      const char* end = after;
      while (end < text.end && is_ascii_letter(*end)) ++end;
      return end;
    }
    const ClassMask next = text.mask_at(after);
    if ((c.mask & (classes::newline | signs)) == 0 && (next & letters) != 0)
      return text.run(after, letters);
    if ((c.mask & signs) != 0 || (*at == ' ' && (next & signs) != 0))
      return text.run(text.run(after, signs), classes::newline);
    return (c.mask & classes::space) != 0 ? lines_and_blanks<false>(text, at) : at;
  }

 private:
  static bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
};

template <class Rules>
std::shared_ptr<const Splitter> make() {
  return std::make_shared<Scanner<Rules>>();
}

struct Row {
  std::string_view pattern;
  std::shared_ptr<const Splitter> (*make)();
};

constexpr std::size_t any = ~std::size_t{0};
constexpr ClassMask letters_and_marks = classes::letter | classes::mark;
using Llama3 = Words<classes::letter, 3, false>;
using Qwen2 = Words<classes::letter, 1, false>;
using Qwen35 = Words<letters_and_marks, 1, false>;
using Cl100k = Words<classes::letter, 3, true>;

constexpr std::array rows = {
    Row{gpt2_pattern, make<Gpt2>},
    Row{r50k_pattern, make<Gpt2>},
    Row{R"('s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        make<Gpt2>},
    Row{llama3_pattern, make<Llama3>},
    Row{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
        make<Llama3>},
    Row{qwen2_pattern, make<Qwen2>},
    Row{qwen35_pattern, make<Qwen35>},
    Row{cl100k_pattern, make<Cl100k>},
    Row{o200k_pattern, make<CasedWords<3, true>>},
    Row{R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        make<CasedWords<1, false>>},
    Row{R"(\p{N}{1,3})", make<Run<classes::number, 3>>},
    Row{R"(\p{N})", make<Run<classes::number, 1>>},
    Row{R"(\p{N}+)", make<Run<classes::number, any>>},
    Row{R"(\s+)", make<Run<classes::space, any>>},
    Row{R"([一-龥぀-ゟ゠-ヿ]+)", make<DeepSeekIdeographs>},
    Row{R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        make<DeepSeekWords>},
};

}  // namespace

std::shared_ptr<const Splitter> family_scanner(std::string_view pattern) {
  std::string escaped;  // DeepSeek's file has CR and LF themselves in its patterns
  for (const char c : pattern) escaped += c == '\r' ? "\\r" : c == '\n' ? "\\n" : std::string(1, c);
  for (const Row& row : rows)
    if (row.pattern == escaped) return row.make();
  return nullptr;
}

}  // namespace triax
