// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of tokens.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace triax {

/// One bit per token; tokens beyond the last bit are not in the set.
class TokenMask {
 public:
  explicit TokenMask(std::size_t tokens) : words_((tokens + 63) / 64) {}

  void set(std::int32_t token, bool in) {
    const std::size_t at = word(token);
    if (at >= words_.size()) words_.resize(at + 1);
    words_[at] = in ? words_[at] | bit(token) : words_[at] & ~bit(token);
  }
  bool has(std::int32_t token) const {
    const std::size_t at = word(token);
    return at < words_.size() && (words_[at] & bit(token)) != 0;
  }
  bool any() const {
    return std::ranges::any_of(words_, [](std::uint64_t word) { return word != 0; });
  }

 private:
  static std::size_t word(std::int32_t token) { return static_cast<std::size_t>(token) / 64; }
  static std::uint64_t bit(std::int32_t token) {
    return std::uint64_t{1} << (static_cast<unsigned>(token) % 64);
  }
  std::vector<std::uint64_t> words_;
};

}  // namespace triax
