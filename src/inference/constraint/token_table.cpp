// SPDX-License-Identifier: Apache-2.0
#include "src/inference/constraint/token_table.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace triax {

TokenTable::TokenTable(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {
  std::vector<std::int32_t> order(bytes_.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::int32_t token) { return this->bytes(token).empty(); });
  std::ranges::sort(order, {}, [&](std::int32_t token) {
    return std::pair(std::string_view(this->bytes(token)), token);
  });
  std::string_view before;
  for (const std::int32_t token : order) {
    const std::string_view now = this->bytes(token);
    const auto shared = std::ranges::mismatch(before, now).in1 - before.begin();
    sorted_.push_back({token, static_cast<std::uint32_t>(shared)});
    before = now;
  }
}

TokenMask TokenTable::allowed(Automaton& automaton, Automaton::State state) const {
  TokenMask mask(bytes_.size());
  std::vector<Automaton::State> path = {state};  // behind the first bytes of the entry before
  std::size_t failed = std::string::npos;        // bytes after which it is dead
  for (const auto& [token, shared] : sorted_) {
    if (shared >= failed) continue;  // it begins with the same dead bytes
    const std::string& text = bytes(token);
    failed = std::string::npos;
    path.resize(shared + 1);
    while (path.size() <= text.size()) {
      const Automaton::State next =
          automaton.next(path.back(), static_cast<unsigned char>(text[path.size() - 1]));
      if (next == Automaton::dead) {
        failed = path.size();
        break;
      }
      path.push_back(next);
    }
    if (failed == std::string::npos) mask.set(token, true);
  }
  return mask;
}

}  // namespace triax
