// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of lists of words. Lists never move, and are freed together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace triax {

class PositionLists {
 public:
  std::span<std::uint32_t> make(std::size_t size) {
    if (left_ < size) {
      left_ = std::max(size, chunk);
      chunks_.push_back(std::make_unique_for_overwrite<std::uint32_t[]>(left_));
      next_ = chunks_.back().get();
    }
    const std::span<std::uint32_t> list(next_, size);
    next_ += size;
    left_ -= size;
    return list;
  }

 private:
  static constexpr std::size_t chunk = std::size_t{1} << 20;  // 4 MiB
  std::vector<std::unique_ptr<std::uint32_t[]>> chunks_;
  std::uint32_t* next_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace triax
