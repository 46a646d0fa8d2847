// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/rank_groups.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace triax::doctor {

std::string ranks_text(const std::vector<int>& ranks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    ranges.push_back(end - i == 1 ? std::to_string(ranks[i])
                                  : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranges, ", "));
}

std::vector<std::pair<std::string, std::vector<int>>> by_value(const std::vector<RankFacts>& ranks,
                                                               const Value& value) {
  std::map<std::string, std::vector<int>> sorted;
  for (const RankFacts& rank : ranks) sorted[value(rank)].push_back(rank.rank);
  std::vector<std::pair<std::string, std::vector<int>>> all(sorted.begin(), sorted.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.second.size(); });
  return all;
}

}  // namespace triax::doctor
