// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/token_words.hpp"

#include <algorithm>
#include <limits>

#include "kernels/base/check.hpp"

namespace triax {

void TokenWords::add(std::string_view word, std::uint64_t count) {
  if (word.size() < 2) return;
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  if (numbers_.size() + header + word.size() > most)
    throw Error("the corpus has too many different words", "their bytes are more than 2^32",
                "Train on a part of the files");
  numbers_.push_back(static_cast<std::uint32_t>(count));
  numbers_.push_back(static_cast<std::uint32_t>(count >> 32));
  numbers_.push_back(static_cast<std::uint32_t>(word.size()));
  for (const char byte : word)
    numbers_.push_back(static_cast<std::uint32_t>(ids_[static_cast<unsigned char>(byte)]));
}

template <class F>
void TokenWords::each_occurrence(F&& f) const {
  std::vector<std::size_t> byte_of(static_cast<std::size_t>(*std::ranges::max_element(ids_)) + 1);
  for (std::size_t byte = 0; byte < ids_.size(); ++byte)
    byte_of[static_cast<std::size_t>(ids_[byte])] = byte;
  for (std::size_t word = 0; word < numbers_.size(); word += header + numbers_[word + 2]) {
    const auto name = static_cast<std::uint32_t>(word);
    const std::uint32_t* const at = tokens(name);
    for (std::uint32_t i = 1; i < size(name); ++i)
      f(byte_of[at[i - 1]] * 256 + byte_of[at[i]], name);
  }
}

void TokenWords::each_pair(PositionLists& lists, const EachPair& f) const {
  constexpr std::uint32_t no_word = ~std::uint32_t{0};
  std::vector<std::int64_t> counts(pairs);
  std::vector<std::uint32_t> last(pairs, no_word);
  std::vector<std::size_t> words(pairs);
  each_occurrence([&](std::size_t pair, std::uint32_t word) {
    counts[pair] += count(word);
    words[pair] += last[pair] != word ? 1 : 0;
    last[pair] = word;
  });
  std::vector<std::span<std::uint32_t>> list(pairs);
  for (std::size_t pair = 0; pair < pairs; ++pair) list[pair] = lists.make(words[pair]);
  std::ranges::fill(last, no_word);
  std::ranges::fill(words, 0);
  each_occurrence([&](std::size_t pair, std::uint32_t word) {
    if (last[pair] != word) list[pair][words[pair]++] = word;
    last[pair] = word;
  });
  for (std::size_t pair = 0; pair < pairs; ++pair)
    if (counts[pair] > 0) f(pair_of(ids_[pair / 256], ids_[pair % 256]), counts[pair], list[pair]);
}

}  // namespace triax
