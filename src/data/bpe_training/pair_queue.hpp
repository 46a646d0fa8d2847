// SPDX-License-Identifier: Apache-2.0
#pragma once
// Queue of pairs that may be merged: the most frequent first, and of equally frequent ones the one
// of the lowest ids.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "src/data/bpe_training/pair_counts.hpp"

namespace triax {

/// A pair as it was when it was put into the queue, and the words that had it then. Later merges
/// only take occurrences away: a new pair has a new token.
struct QueuedPair {
  std::int64_t count = 0;
  TokenPair pair = 0;
  std::span<const std::uint32_t> words;
};

class PairQueue {
 public:
  bool empty() const { return heap_.empty(); }
  void push(const QueuedPair& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  QueuedPair pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const QueuedPair top = heap_.back();
    heap_.pop_back();
    return top;
  }

 private:
  static bool later(const QueuedPair& a, const QueuedPair& b) {
    if (a.count != b.count) return a.count < b.count;
    return a.pair > b.pair;
  }
  std::vector<QueuedPair> heap_;
};

}  // namespace triax
