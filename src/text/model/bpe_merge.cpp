// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/bpe_merge.hpp"

#include <algorithm>
#include <functional>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};
constexpr std::int32_t merged = -1;  // symbol that became a part of the one before it

}  // namespace

void BpeMerger::merge(const PairTable& table, std::vector<std::int32_t>& symbols) {
  if (symbols.size() < 2) return;
  symbols.size() <= short_piece ? merge_short(table, symbols) : merge_long(table, symbols);
}

void BpeMerger::merge_short(const PairTable& table, std::vector<std::int32_t>& symbols) {
  std::size_t n = symbols.size();
  pairs_.resize(n);
  for (std::size_t i = 0; i + 1 < n; ++i) pairs_[i] = table.find(symbols[i], symbols[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (pairs_[i].rank < pairs_[best].rank) best = i;
    if (pairs_[best].rank == Merge::no_merge) break;
    symbols[best] = pairs_[best].id;
    --n;
    for (std::size_t i = best + 1; i < n; ++i) {
      symbols[i] = symbols[i + 1];
      pairs_[i - 1] = pairs_[i];
    }
    if (best > 0) pairs_[best - 1] = table.find(symbols[best - 1], symbols[best]);
    if (best + 1 < n) pairs_[best] = table.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(n);
}

void BpeMerger::merge_long(const PairTable& table, std::vector<std::int32_t>& symbols) {
  const std::size_t n = symbols.size();
  if (n >= none) throw Error("a piece of text has 2^32 symbols or more", {}, "Split the document");
  pairs_.assign(n, Merge{});
  before_.resize(n);
  after_.resize(n);
  heap_.clear();
  const auto entry = [&](std::size_t i) { return std::uint64_t{pairs_[i].rank} << 32 | i; };
  for (std::size_t i = 0; i < n; ++i) {
    before_[i] = i == 0 ? none : static_cast<std::uint32_t>(i - 1);
    after_[i] = i + 1 == n ? none : static_cast<std::uint32_t>(i + 1);
    if (i + 1 == n) break;
    pairs_[i] = table.find(symbols[i], symbols[i + 1]);
    if (pairs_[i].rank != Merge::no_merge) heap_.push_back(entry(i));
  }
  std::ranges::make_heap(heap_, std::greater<>{});
  const auto pair_again = [&](std::uint32_t i) {
    pairs_[i] = after_[i] == none ? Merge{} : table.find(symbols[i], symbols[after_[i]]);
    if (pairs_[i].rank == Merge::no_merge) return;
    heap_.push_back(entry(i));
    std::ranges::push_heap(heap_, std::greater<>{});
  };
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater<>{});
    const auto i = static_cast<std::uint32_t>(heap_.back());
    const auto rank = static_cast<std::uint32_t>(heap_.back() >> 32);
    heap_.pop_back();
    if (symbols[i] == merged || pairs_[i].rank != rank) continue;  // stale
    const std::uint32_t right = after_[i];
    symbols[i] = pairs_[i].id;
    symbols[right] = merged;
    after_[i] = after_[right];
    if (after_[i] != none) before_[after_[i]] = i;
    pair_again(i);
    if (before_[i] != none) pair_again(before_[i]);
  }
  std::erase(symbols, merged);
}

}  // namespace triax
