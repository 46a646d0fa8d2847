// SPDX-License-Identifier: Apache-2.0
#include "src/doctor/rank_groups.hpp"

#include <algorithm>
#include <map>

namespace triax::doctor {

std::vector<std::pair<std::string, std::vector<int>>> by_value(const std::vector<RankFacts>& ranks,
                                                               const Value& value) {
  std::map<std::string, std::vector<int>> sorted;
  for (const RankFacts& rank : ranks) sorted[value(rank)].push_back(rank.rank);
  std::vector<std::pair<std::string, std::vector<int>>> all(sorted.begin(), sorted.end());
  std::ranges::stable_sort(all, std::greater(), [](const auto& one) { return one.second.size(); });
  return all;
}

}  // namespace triax::doctor
