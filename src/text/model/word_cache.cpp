// SPDX-License-Identifier: Apache-2.0
#include "src/text/model/word_cache.hpp"

#include <algorithm>
#include <functional>

namespace triax {

bool LongWordCache::find(std::string_view word, std::vector<std::int32_t>& ids) const {
  const Slot& slot = slots_[std::hash<std::string_view>{}(word) % slots];
  if (word != std::string_view(texts_.data() + slot.text, slot.bytes)) return false;
  const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(slot.first);
  ids.insert(ids.end(), first, first + slot.count);
  return true;
}

void LongWordCache::add(std::string_view word, std::span<const std::int32_t> ids) {
  if (texts_.size() + word.size() > most_bytes) {  // full: begins again
    texts_.clear();
    ids_.clear();
    std::ranges::fill(slots_, Slot{});
  }
  slots_[std::hash<std::string_view>{}(word) % slots] = {texts_.size(), ids_.size(),
                                                         static_cast<std::uint32_t>(word.size()),
                                                         static_cast<std::uint32_t>(ids.size())};
  texts_.insert(texts_.end(), word.begin(), word.end());
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace triax
