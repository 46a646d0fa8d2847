// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokens of a model by id and by text.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace triax {

/// One more than the largest id, and no larger: ids of files beyond it are refused.
inline constexpr std::int64_t most_tokens = 1 << 24;

/// Texts of ids, as the model compares them. Byte-level models compare bytes: "Ġthe" is " the".
class Vocabulary {
 public:
  /// `text` of an id >= 0. The last id of a text is found by it, if `findable`; the last text of an
  /// id counts.
  void add(std::string_view text, std::int32_t id, bool findable = true);
  void reserve(std::size_t tokens);

  std::int32_t size() const { return static_cast<std::int32_t>(texts_.size()); }
  /// Empty for an id that has none.
  std::string_view text(std::int32_t id) const {
    return id >= 0 && id < size() ? texts_[static_cast<std::size_t>(id)] : std::string_view{};
  }
  /// -1: none.
  std::int32_t find(std::string_view text) const {
    const auto at = ids_.find(text);
    return at == ids_.end() ? -1 : at->second;
  }

 private:
  static constexpr std::size_t chunk = 1 << 20;  // bytes
  std::string_view kept(std::string_view text);

  std::deque<std::string> arena_;  // holds the texts; strings never move
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

/// The 256 characters that stand for bytes in files of byte-level models (GPT-2's
/// bytes_to_unicode).
const std::vector<std::string>& byte_alphabet();
/// Bytes of a text in that alphabet; nothing if a character is not of it.
std::optional<std::string> bytes_of_alphabet(std::string_view text);
/// A text of bytes in that alphabet.
std::string in_byte_alphabet(std::string_view bytes);
/// "<0xAB>", or -1: the byte that a token of a model with byte_fallback stands for.
int byte_of_token(std::string_view token);

}  // namespace triax
