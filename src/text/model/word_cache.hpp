// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ids of words that were met before, for one thread. Bounded: new words replace old ones.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace triax {

/// A word of at most 15 bytes as two numbers; the upper byte of the second is its length.
struct ShortWord {
  std::uint64_t low, high;
  bool operator==(const ShortWord&) const = default;
};

/// `readable`: 16 bytes can be read at the word.
inline ShortWord short_word(const char* at, std::size_t bytes, bool readable) {
  std::array<std::uint64_t, 2> words{};
  std::memcpy(words.data(), at, readable ? 16 : bytes);
  const auto kept = [](std::size_t n) { return n == 0 ? 0 : ~std::uint64_t{0} >> (64 - 8 * n); };
  const std::uint64_t low = words[0] & kept(bytes < 8 ? bytes : 8);
  const std::uint64_t high = words[1] & kept(bytes < 8 ? 0 : bytes - 8);
  return {low, high | std::uint64_t{bytes} << 56};
}

/// Words of at most 15 bytes with at most 3 ids: two entries per line of the processor's cache.
class ShortWordCache {
 public:
  static constexpr std::size_t longest = 15;  // bytes
  struct Entry {
    ShortWord word{};
    std::array<std::int32_t, 3> ids{};
    std::int32_t count = 0;
  };

  /// Null: not there.
  const Entry* find(const ShortWord& word) const {
    const std::size_t at = place(word);
    if (entries_[at].word == word) return &entries_[at];
    if (entries_[at ^ 1U].word == word) return &entries_[at ^ 1U];
    return nullptr;
  }
  /// Takes words with 0 to 3 ids; others are left out.
  void add(const ShortWord& word, std::span<const std::int32_t> ids) {
    if (ids.size() > 3) return;
    const std::size_t at = place(word);
    entries_[at ^ 1U] = entries_[at];
    entries_[at].word = word;
    entries_[at].count = static_cast<std::int32_t>(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) entries_[at].ids[i] = ids[i];
  }

 private:
  static constexpr unsigned bits = 16;
  static std::size_t place(const ShortWord& word) {
    std::uint64_t hash = (word.low ^ (word.high * 0x9E3779B97F4A7C15U)) * 0xD6E8FEB86659FD93U;
    hash ^= hash >> 32;
    return (hash * 0xD6E8FEB86659FD93U) >> (64 - bits);
  }
  std::vector<Entry> entries_ = std::vector<Entry>(std::size_t{1} << bits);  // 2 MiB
};

/// Words of 16 to 256 bytes, and short ones of many ids.
class LongWordCache {
 public:
  static constexpr std::size_t longest = 256;  // bytes

  /// False: not there. Else the ids are appended.
  bool find(std::string_view word, std::vector<std::int32_t>& ids) const;
  void add(std::string_view word, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t slots = 1 << 14, most_bytes = 1 << 22;
  struct Slot {
    std::size_t text = 0, first = 0;  // offsets
    std::uint32_t bytes = 0, count = 0;
  };
  std::vector<Slot> slots_ = std::vector<Slot>(slots);
  std::vector<char> texts_;
  std::vector<std::int32_t> ids_;
};

}  // namespace triax
