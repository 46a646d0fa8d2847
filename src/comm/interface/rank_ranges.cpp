// SPDX-License-Identifier: Apache-2.0
#include "src/comm/interface/rank_ranges.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace triax {

std::string ranks_text(std::vector<int> ranks, std::size_t most) {
  std::ranges::sort(ranks);
  std::vector<std::string> ranges;
  for (std::size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
    for (end = begin + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (ranges.size() == most) {
      ranges.emplace_back("...");
      break;
    }
    ranges.push_back(end - begin == 1 ? std::to_string(ranks[begin])
                                      : fmt::format("{}-{}", ranks[begin], ranks[end - 1]));
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranges, ", "));
}

}  // namespace triax
