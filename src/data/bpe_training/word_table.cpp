// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/word_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/base/splitmix.hpp"

namespace triax {
namespace {

// Upper byte of a long word's second number; a short one has its length there.
constexpr std::uint64_t long_mark = 0xFF;

static_assert(std::endian::native == std::endian::little, "short words are read as their bytes");

bool is_long(const ShortWord& word) {
  return word.high >> 56 == long_mark;
}

std::uint64_t hash_of(const ShortWord& word) {
  constexpr std::uint64_t factor = 0xD6E8FEB86659FD93U;
  std::uint64_t hash = (word.low ^ (word.high * 0x9E3779B97F4A7C15U)) * factor;
  hash = (hash ^ hash >> 32) * factor;
  return hash ^ hash >> 32;
}

// The same on every machine, as it decides which rank has a word.
std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = word.size();
  for (; !word.empty(); word.remove_prefix(std::min<std::size_t>(8, word.size()))) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, word.data(), std::min<std::size_t>(8, word.size()));
    hash = splitmix64(hash ^ bytes);
  }
  return hash;
}

}  // namespace

WordKey word_key(std::string_view word, bool readable) {
  if (word.size() <= ShortWordCache::longest) {
    const ShortWord key = short_word(word.data(), word.size(), readable);
    return {key, hash_of(key)};
  }
  const std::uint64_t hash = hash_of(word);
  return {{hash, long_mark << 56}, hash};
}

void WordTable::add(const WordKey& key, std::string_view word, std::uint64_t count) {
  if (3 * (size_ + 1) > 2 * slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = key.hash & mask;
  while (slots_[at].word != ShortWord{}) {
    if (is(slots_[at], key, word)) {
      slots_[at].count += count;
      return;
    }
    at = (at + 1) & mask;
  }
  Slot& slot = slots_[at];
  slot = {key.word, count};
  if (is_long(key.word)) {
    slot.word.high |= long_words_.size();
    long_words_.push_back({texts_.size(), word.size()});
    texts_.insert(texts_.end(), word.begin(), word.end());
  }
  ++size_;
  text_bytes_ += word.size();
}

void WordTable::clear() {
  std::ranges::fill(slots_, Slot{});
  size_ = text_bytes_ = 0;
  long_words_.clear();
  texts_.clear();
}

WordKey WordTable::key_of(const Slot& slot) const {
  if (is_long(slot.word)) return {{slot.word.low, long_mark << 56}, slot.word.low};
  return {slot.word, hash_of(slot.word)};
}

std::string_view WordTable::text_of(const Slot& slot) const {
  if (!is_long(slot.word)) return {reinterpret_cast<const char*>(&slot.word), slot.word.high >> 56};
  const LongWord& word = long_words_[slot.word.high & ~(long_mark << 56)];
  return {texts_.data() + word.begin, word.bytes};
}

bool WordTable::is(const Slot& slot, const WordKey& key, std::string_view word) const {
  if (!is_long(key.word)) return slot.word == key.word;
  return is_long(slot.word) && slot.word.low == key.word.low && text_of(slot) == word;
}

void WordTable::grow() {
  constexpr std::size_t least = 1024;
  std::vector<Slot> before(std::max(least, 2 * slots_.size()));
  std::swap(before, slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.word == ShortWord{}) continue;
    std::size_t at = key_of(slot).hash & mask;
    while (slots_[at].word != ShortWord{}) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace triax
