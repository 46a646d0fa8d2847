// SPDX-License-Identifier: Apache-2.0
#include "src/text/normalize/compose.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>

#include "kernels/base/check.hpp"
#include "kernels/base/utf8.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

constexpr std::size_t points = 0x110000;

// Characters of Unicode 10 to 16 that a normal form would change, order or compose. Hugging Face
// tokenizers has the tables of Unicode 9, to which they are unassigned.
struct Range {
  char32_t first, last;
};
constexpr std::array<Range, 56> newer = {
    {{0x7FD, 0x7FD},     {0x897, 0x897},     {0x898, 0x89F},     {0x8CA, 0x8D3},
     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},     {0xD3B, 0xD3C},     {0xEBA, 0xEBA},
     {0x1715, 0x1715},   {0x1ABF, 0x1ACE},   {0x1DF6, 0x1DFA},   {0x32FF, 0x32FF},
     {0xA7F2, 0xA7F4},   {0xA82C, 0xA82C},   {0xAB69, 0xAB69},   {0x105C9, 0x105C9},
     {0x105E4, 0x105E4}, {0x10781, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA},
     {0x10D24, 0x10D27}, {0x10D69, 0x10D6D}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
     {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
     {0x11382, 0x113D0}, {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11938, 0x11938},
     {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34},
     {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
     {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16121, 0x16128}, {0x1612F, 0x1612F},
     {0x16D63, 0x16D6A}, {0x16FF0, 0x16FF1}, {0x1CCD6, 0x1CCF9}, {0x1E030, 0x1E06D},
     {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF},
     {0x1E4EC, 0x1E4EF}, {0x1E5EE, 0x1E5EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}}};

bool is_newer(char32_t c) {
  return std::ranges::any_of(newer, [c](Range r) { return c >= r.first && c <= r.last; });
}

utf8proc_option_t options_of(NormalForm form) {
  const bool composed = form == NormalForm::nfc || form == NormalForm::nfkc;
  const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE |
                                        (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
                                        (compatible ? UTF8PROC_COMPAT : 0));
}

class Form final : public Normalizer {
 public:
  explicit Form(NormalForm form) : options_(options_of(form)) {
    const bool composed = (options_ & UTF8PROC_COMPOSE) != 0;
    std::vector<std::int32_t> buffer;
    for (char32_t c = 0x80; c < last_point; ++c) {
      const bool hangul = c >= 0xAC00 && c <= 0xD7A3;
      if (is_ideograph(c) || (hangul && composed) || (c >= 0xD800 && c <= 0xDFFF)) continue;
      if (is_newer(c)) continue;
      const std::size_t decomposed = decompose(c, buffer);
      if (composed && decomposed > 1) active_.set(static_cast<std::size_t>(buffer.back()));
      if (utf8proc_get_property(static_cast<std::int32_t>(c))->combining_class != 0 ||
          (c >= 0x1160 && c <= 0x11FF) || !is_own_form(c, buffer))
        active_.set(c);
    }
  }

  bool apply(std::string_view text, std::string& out) const override {
    const char* const begin = text.data();
    const char* const end = begin + text.size();
    const char* copied = begin;  // text before it is in `out`
    std::vector<std::int32_t> buffer;
    bool changed = false;
    for (const char* at = skip_ascii(begin, end); at < end; at = skip_ascii(at, end)) {
      if (const CodePoint c = code_point_at(at, end); !active_[c.value]) {
        at += c.bytes;
        continue;
      }
      // The character before may compose with those that follow it.
      const char* start = at > copied ? previous_code_point(copied, at) : at;
      if (is_newer(code_point_at(start, end).value)) start = at;
      while (at < end && *at < 0 && active_[code_point_at(at, end).value])
        at += code_point_at(at, end).bytes;
      out.append(copied, start);
      const std::size_t length = out.size();
      append_form(start, at, buffer, out);
      changed = changed || std::string_view(out).substr(length) != std::string_view(start, at);
      copied = at;
    }
    if (!changed) {
      out.clear();
      return false;
    }
    out.append(copied, end);
    return true;
  }

 private:
  static constexpr char32_t last_point = 0x30000;  // beyond it nothing changes
  static bool is_ideograph(char32_t c) {
    return (c >= 0x3400 && c < 0xA000) || (c >= 0x20000 && c < 0x2F800);
  }

  static const char* skip_ascii(const char* at, const char* end) {
    for (std::uint64_t word = 0; end - at >= 8; at += 8) {
      std::memcpy(&word, at, 8);
      if ((word & 0x8080808080808080U) != 0) break;
    }
    while (at < end && *at >= 0) ++at;
    return at;
  }

  // Code points of the decomposition of one.
  std::size_t decompose(char32_t c, std::vector<std::int32_t>& buffer) const {
    buffer.resize(32);  // the longest has 18
    int last = 0;
    const auto n =
        utf8proc_decompose_char(static_cast<std::int32_t>(c), buffer.data(), 32, options_, &last);
    check(n > 0 && n <= 32, "utf8proc refuses U+{:X}", static_cast<std::uint32_t>(c));
    buffer.resize(static_cast<std::size_t>(n));
    return buffer.size();
  }
  // `buffer`: the decomposition of `c`.
  bool is_own_form(char32_t c, std::vector<std::int32_t>& buffer) const {
    const auto size = static_cast<utf8proc_ssize_t>(buffer.size());
    buffer.push_back(0);  // utf8proc ends it
    return utf8proc_normalize_utf32(buffer.data(), size, options_) == 1 &&
           buffer.front() == static_cast<std::int32_t>(c);
  }

  void append_form(const char* begin, const char* end, std::vector<std::int32_t>& buffer,
                   std::string& out) const {
    const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(begin);
    const utf8proc_ssize_t size = end - begin;
    utf8proc_ssize_t n = utf8proc_decompose(bytes, size, nullptr, 0, options_);
    if (n >= 0) {
      buffer.resize(static_cast<std::size_t>(n) + 1);
      n = utf8proc_decompose(bytes, size, buffer.data(), n, options_);
    }
    if (n >= 0) n = utf8proc_normalize_utf32(buffer.data(), n, options_);
    if (n < 0) {  // not UTF-8: stays as it is
      out.append(begin, end);
      return;
    }
    for (utf8proc_ssize_t i = 0; i < n; ++i)
      append_utf8(out, static_cast<char32_t>(buffer[static_cast<std::size_t>(i)]));
  }

  utf8proc_option_t options_;
  std::bitset<points> active_;
};

}  // namespace

std::unique_ptr<const Normalizer> normal_form(NormalForm form) {
  return std::make_unique<Form>(form);
}

}  // namespace triax
