// SPDX-License-Identifier: Apache-2.0
#include "src/text/normalize/compose.hpp"

#include <utf8proc.h>

#include <bitset>
#include <cstring>

#include "kernels/base/check.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

constexpr std::size_t points = 0x110000;

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
      const char* const start = at > copied ? previous_code_point(copied, at) : at;
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
