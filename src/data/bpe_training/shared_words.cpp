// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/shared_words.hpp"

#include <algorithm>

namespace triax {
namespace {

struct Counted {
  WordKey key;
  std::string_view word;
  std::uint64_t count;
};

}  // namespace

void SharedWords::take(WordTable& local, std::size_t first) {
  constexpr std::size_t ahead = 8;
  const std::size_t count = partitions_.size();
  std::vector<std::size_t> begins(count + 1);
  local.each([&](const WordKey& key, std::string_view, std::uint64_t) {
    ++begins[partition_of(key) + 1];
  });
  for (std::size_t p = 0; p < count; ++p) begins[p + 1] += begins[p];
  std::vector<Counted> sorted(local.size());
  std::vector<std::size_t> next = begins;
  local.each([&](const WordKey& key, std::string_view word, std::uint64_t times) {
    sorted[next[partition_of(key)]++] = {key, word, times};
  });
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t p = (first + i) % count;
    const std::scoped_lock lock(partitions_[p].mutex);
    WordTable& words = partitions_[p].words;
    for (std::size_t w = begins[p]; w < begins[p + 1]; ++w) {
      if (w + ahead < begins[p + 1]) words.prefetch(sorted[w + ahead].key);
      words.add(sorted[w].key, sorted[w].word, sorted[w].count);
    }
  }
  local.clear();
}

}  // namespace triax
