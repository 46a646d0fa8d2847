// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/ngram_draft.hpp"

#include <algorithm>

namespace triax {

std::vector<std::int32_t> ngram_draft(std::span<const std::int32_t> text, std::int64_t most) {
  for (const std::size_t n : {3, 2}) {
    if (text.size() <= n) continue;
    const auto last = text.last(n);
    const auto earlier = text.first(text.size() - 1);
    const auto found = std::find_end(earlier.begin(), earlier.end(), last.begin(), last.end());
    if (found == earlier.end()) continue;
    const auto next = text.begin() + (found - earlier.begin()) + static_cast<std::ptrdiff_t>(n);
    return {next, next + std::min<std::ptrdiff_t>(most, text.end() - next)};
  }
  return {};
}

}  // namespace triax
