// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/bpe_merge.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace triax {
namespace {

using Merges = std::map<std::pair<std::int32_t, std::int32_t>, Merge>;

// Merges one pair after the other, as the paper says it.
std::vector<std::int32_t> merged(const Merges& merges, std::vector<std::int32_t> symbols) {
  for (;;) {
    Merge best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      if (const auto found = merges.find({symbols[i], symbols[i + 1]});
          found != merges.end() && found->second.rank < best.rank) {
        best = found->second;
        at = i;
      }
    if (best.rank == Merge::no_merge) return symbols;
    symbols[at] = best.id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(BpeMerge, EqualsTheDefinition) {
  std::mt19937 random(3);
  BpeMerger merger;
  for (int round = 0; round < 300; ++round) {
    Merges merges;
    std::int32_t tokens = 4;
    for (int i = 0; i < 30; ++i) {
      const auto any = [&] {
        return static_cast<std::int32_t>(random() % static_cast<unsigned>(tokens));
      };
      const std::pair pair = {any(), any()};
      // Some ranks are equal, as scores of SentencePiece may be.
      if (merges.emplace(pair, Merge{static_cast<std::uint32_t>(i / 2), tokens}).second) ++tokens;
    }
    PairTable table(merges.size());
    for (const auto& [pair, merge] : merges) table.add(pair.first, pair.second, merge);
    std::vector<std::int32_t> symbols(1 + random() % 200);  // short and long pieces
    for (auto& symbol : symbols) symbol = static_cast<std::int32_t>(random() % 4);
    const std::vector<std::int32_t> expected = merged(merges, symbols);
    merger.merge(table, symbols);
    EXPECT_EQ(symbols, expected);
  }
}

}  // namespace
}  // namespace triax
