// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts of words: a hash table with open addresses.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/text/model/word_cache.hpp"

namespace triax {

/// A word as the table keeps it. Words of more than 15 bytes lie in the table's texts.
struct WordKey {
  ShortWord word;  // of a long one: its hash, long_mark and its number
  std::uint64_t hash = 0;
};

/// `readable`: 16 bytes can be read at the word.
WordKey word_key(std::string_view word, bool readable);

class WordTable {
 public:
  struct Slot {
    ShortWord word{};  // empty: both numbers are 0
    std::uint64_t count = 0;
  };

  /// `key` is that of `word`, which is not empty.
  void add(const WordKey& key, std::string_view word, std::uint64_t count);
  /// Loads the slot of a word into the processor's cache.
  void prefetch(const WordKey& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)], 1);
  }
  std::size_t size() const { return size_; }
  /// Bytes of all words.
  std::size_t text_bytes() const { return text_bytes_; }
  /// Bytes of the words that lie outside the slots.
  std::size_t long_bytes() const { return texts_.size(); }
  /// Calls f(key, word, count) for each word; the order depends on what was added.
  template <class F>
  void each(F&& f) const {
    for (const Slot& slot : slots_)
      if (slot.word != ShortWord{}) f(key_of(slot), text_of(slot), slot.count);
  }
  /// Removes the words and keeps the slots' memory.
  void clear();

 private:
  struct LongWord {
    std::size_t begin = 0, bytes = 0;  // in texts_
  };

  WordKey key_of(const Slot& slot) const;
  /// Valid as long as the slot and until the next add().
  std::string_view text_of(const Slot& slot) const;
  bool is(const Slot& slot, const WordKey& key, std::string_view word) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two of them
  std::size_t size_ = 0, text_bytes_ = 0;
  std::vector<LongWord> long_words_;
  std::vector<char> texts_;
};

}  // namespace triax
