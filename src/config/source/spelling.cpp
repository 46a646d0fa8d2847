// SPDX-License-Identifier: Apache-2.0
#include "src/config/source/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace triax {

std::size_t edits(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] =
          std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::string nearest_word(const std::string& word, const std::vector<std::string>& words) {
  const auto best = std::ranges::min_element(
      words, {}, [&](const std::string& candidate) { return edits(word, candidate); });
  return best == words.end() ? std::string() : *best;
}

}  // namespace triax
