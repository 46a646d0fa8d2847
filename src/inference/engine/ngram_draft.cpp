// SPDX-License-Identifier: Apache-2.0
#include "src/inference/engine/ngram_draft.hpp"

#include <algorithm>

namespace triax {

std::vector<std::int32_t> ngram_draft(std::span<const std::int32_t> text, std::int64_t most) {
  for (const std::size_t n : {3, 2}) {
    if (text.size() <= n) continue;
    const auto last = text.last(n);
    const auto earlier = text.first(text.size() - 1);
    const auto found = std::ranges::find_end(earlier, last);
    if (found.empty()) continue;
    const auto count = std::min<std::ptrdiff_t>(most, text.end() - found.end());
    return {found.end(), found.end() + count};
  }
  return {};
}

}  // namespace triax
