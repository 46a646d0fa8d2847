// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/merge_effects.hpp"

namespace triax {

void MergeEffects::apply(TokenWords& words, std::span<const std::uint32_t> list,
                         const TokenMerge& merge, std::size_t vocabulary) {
  constexpr std::size_t ahead = 12;
  for (std::vector<Entry>& side : sides_)
    if (side.size() < vocabulary) side.resize(vocabulary);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + ahead < list.size()) words.prefetch(list[i + ahead]);
    apply_to(words, list[i], merge);
  }
}

void MergeEffects::apply_to(TokenWords& words, std::uint32_t word, const TokenMerge& merge) {
  std::uint32_t* const tokens = words.tokens(word);
  const std::uint32_t size = words.size(word);
  const auto left = static_cast<std::uint32_t>(merge.left);
  const auto right = static_cast<std::uint32_t>(merge.right);
  std::uint32_t from = 0;
  while (from + 1 < size && (tokens[from] != left || tokens[from + 1] != right)) ++from;
  if (from + 1 >= size) return;
  const std::int64_t count = words.count(word);
  std::uint32_t to = from;
  while (from < size) {
    if (tokens[from] != left || from + 1 >= size || tokens[from + 1] != right) {
      tokens[to++] = tokens[from++];
      continue;
    }
    if (to > 0) {
      const auto id = static_cast<std::int32_t>(tokens[to - 1]);
      entry(before, id).sums.lost += count;
      gain(before, id, word, count);
    }
    tokens[to++] = static_cast<std::uint32_t>(merge.made);
    from += 2;
    if (from < size) {
      const auto id = static_cast<std::int32_t>(tokens[from]);
      entry(after, id).sums.lost += count;
      gain(after, id, word, count);
    }
  }
  words.shorten(word, to);
}

MergeEffects::Entry& MergeEffects::entry(Side side, std::int32_t id) {
  Entry& entry = sides_[side][static_cast<std::size_t>(id)];
  if (entry.sums.lost == 0 && entry.sums.gained == 0) met_[side].push_back(id);
  return entry;
}

void MergeEffects::gain(Side side, std::int32_t id, std::uint32_t word, std::int64_t count) {
  Entry& gains = entry(side, id);
  gains.sums.gained += count;
  if (gains.last == word) return;
  gains.last = word;
  ++gains.sums.words;
  gains_.push_back({word, id, side});
}

void MergeEffects::clear() {
  for (const Side side : {before, after}) {
    for (const std::int32_t id : met_[side]) sides_[side][static_cast<std::size_t>(id)] = {};
    met_[side].clear();
  }
  gains_.clear();
}

}  // namespace triax
