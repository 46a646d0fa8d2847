// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of a rank, counted by all its threads: cut by hash into partitions, so that threads and
// ranks work on different ones.
#include <cstddef>
#include <mutex>
#include <string_view>
#include <vector>

#include "src/data/bpe_training/word_table.hpp"

namespace triax {

class SharedWords {
 public:
  /// `partitions` is a power of two.
  explicit SharedWords(std::size_t partitions) : partitions_(partitions) {}
  std::size_t partitions() const { return partitions_.size(); }
  /// Partition of a word, the same on every rank.
  std::size_t partition_of(const WordKey& key) const {
    return (key.hash >> 32) & (partitions_.size() - 1);
  }
  /// Moves the words of a thread's table here. `first`: the partition that is filled first, so that
  /// threads begin at different ones.
  void take(WordTable& local, std::size_t first);
  /// Not while a thread is in take().
  WordTable& words(std::size_t partition) { return partitions_[partition].words; }

 private:
  struct Partition {
    std::mutex mutex;
    WordTable words;
  };
  std::vector<Partition> partitions_;
};

/// Words of one thread: a small table, emptied into the rank's when it is full.
class LocalWords {
 public:
  LocalWords(SharedWords& shared, std::size_t thread) : shared_(shared), thread_(thread) {}
  /// `readable`: 16 bytes can be read at the word.
  void add(std::string_view word, bool readable) { words_.add(word_key(word, readable), word, 1); }
  /// Empties the table where it is full; call it between texts of bounded length.
  void give_if_full() {
    constexpr std::size_t most_words = std::size_t{1} << 16, most_bytes = std::size_t{4} << 20;
    if (words_.size() > most_words || words_.long_bytes() > most_bytes) give();
  }
  void give() { shared_.take(words_, thread_); }

 private:
  SharedWords& shared_;
  std::size_t thread_;
  WordTable words_;
};

}  // namespace triax
