// SPDX-License-Identifier: Apache-2.0
#include "src/text/normalize/sentencepiece.hpp"

#include <cstdint>
#include <cstring>

#include "kernels/base/check.hpp"
#include "src/text/unicode/utf8.hpp"

namespace triax {
namespace {

constexpr std::string_view blank = "\xE2\x96\x81";

// Double-array trie of darts-clone (https://github.com/s-yata/darts-clone): units of 32 bits, then
// the replacements, which NULs end.
class CharacterMap {
 public:
  CharacterMap(std::string_view blob, const std::string& place) {
    if (blob.empty()) return;
    std::uint32_t bytes = 0;
    if (blob.size() >= 4) std::memcpy(&bytes, blob.data(), 4);
    if (bytes == 0 || bytes % 4 != 0 || bytes > blob.size() - 4)
      throw UsageError(place + ": normalizer_spec.precompiled_charsmap is damaged", {},
                       "Fetch the file again");
    units_.resize(bytes / 4);
    std::memcpy(units_.data(), blob.data() + 4, bytes);
    const std::string_view texts = blob.substr(4 + bytes);
    replacements_.assign(texts.begin(), texts.end());
  }

  struct Match {
    std::size_t bytes = 0;  // 0: no rule
    std::string_view replacement;
  };
  // The longest rule that `text` begins with.
  Match longest(std::string_view text) const {
    Match match;
    if (units_.empty()) return match;
    std::size_t node = offset(units_[0]);
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      node ^= byte;
      if (node >= units_.size() || (units_[node] & 0x800000FFU) != byte) break;
      const std::uint32_t unit = units_[node];
      node ^= offset(unit);
      if ((unit >> 8 & 1U) == 0 || node >= units_.size()) continue;
      const std::size_t at = units_[node] & 0x7FFFFFFFU;
      if (at < replacements_.size()) match = {i + 1, replacements_.c_str() + at};  // to its NUL
    }
    return match;
  }

 private:
  static std::size_t offset(std::uint32_t unit) {
    return std::size_t{unit >> 10} << ((unit & (1U << 9)) >> 6);
  }
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

class SentencePiece final : public Normalizer {
 public:
  SentencePiece(SentencePieceRules rules, const std::string& place)
      : rules_(std::move(rules)), map_(rules_.charsmap, place) {}

  bool apply(std::string_view text, std::string& out) const override {
    const std::string_view space = rules_.escape_whitespaces ? blank : " ";
    bool space_before = rules_.remove_extra_whitespaces;
    bool begun = false;
    for (std::size_t at = 0; at < text.size();) {
      const auto [bytes, part] = next(text.substr(at));
      at += bytes;
      for (const char c : part) {
        if (c == ' ' && space_before) continue;
        if (!begun && rules_.add_dummy_prefix) out += space;
        begun = true;
        if (c == ' ')
          out += space;
        else
          out.push_back(c);
        space_before = c == ' ' && rules_.remove_extra_whitespaces;
      }
    }
    if (rules_.remove_extra_whitespaces)
      while (begun && std::string_view(out).ends_with(space)) out.erase(out.size() - space.size());
    if (!rules_.remove_extra_whitespaces && !begun) return false;
    return true;
  }

 private:
  // Bytes that a rule or a character takes, and its replacement.
  CharacterMap::Match next(std::string_view text) const {
    if (const auto match = map_.longest(text); match.bytes > 0) return match;
    const std::size_t bytes = code_point_at(text.data(), text.data() + text.size()).bytes;
    return {bytes, text.substr(0, bytes)};
  }

  SentencePieceRules rules_;
  CharacterMap map_;
};

}  // namespace

std::unique_ptr<const Normalizer> sentencepiece_normalizer(SentencePieceRules rules,
                                                           const std::string& place) {
  return std::make_unique<SentencePiece>(std::move(rules), place);
}

}  // namespace triax
