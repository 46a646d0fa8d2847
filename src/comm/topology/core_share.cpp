// SPDX-License-Identifier: Apache-2.0
#include "src/comm/topology/core_share.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace triax {
namespace {

bool overlap(const ThreadMask& a, const ThreadMask& b) {
  bool some = false;
  for (std::size_t word = 0; word < a.size(); ++word) some = some || (a[word] & b[word]) != 0;
  return some;
}

// The threads of each core that are in `mask`, without cores that have none.
Cores cores_in(const Cores& cores, const ThreadMask& mask) {
  Cores in;
  for (const std::vector<int>& core : cores) {
    std::vector<int> threads;
    for (const int thread : core)
      if (has(mask, static_cast<std::size_t>(thread))) threads.push_back(thread);
    if (!threads.empty()) in.push_back(std::move(threads));
  }
  return in;
}

// "0-3,8": ascending numbers as ranges.
std::string runs_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (last > first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

}  // namespace

std::string CoreShare::text() const {
  const std::string some = fmt::format("{} of the node's {} core(s)", cores, of_node);
  return own() ? fmt::format("{} (hardware threads {})", some, runs_of(threads())) : some;
}

std::vector<int> CoreShare::threads() const {
  std::vector<int> all;
  for (const std::vector<int>& core : own_cores) all.insert(all.end(), core.begin(), core.end());
  std::sort(all.begin(), all.end());
  return all;
}

CoreShare CoreShare::first(int count) const {
  CoreShare some = *this;
  some.cores = std::min(cores, count);
  if (own()) some.own_cores.resize(static_cast<std::size_t>(some.cores));
  return some;
}

std::pair<int, int> equal_run(int count, int index, int sharers) {
  const auto first = static_cast<int>(std::int64_t{index} * count / sharers);
  return {first, first + count / sharers};
}

CoreShare share_of_masks(const Cores& cores, const std::vector<ThreadMask>& masks, int rank,
                         int quota) {
  const ThreadMask& own = masks[static_cast<std::size_t>(rank)];
  int sharers = 0, before = 0, users = 0;
  for (int other = 0; other < std::ssize(masks); ++other) {
    const ThreadMask& mask = masks[static_cast<std::size_t>(other)];
    if (overlap(mask, own)) ++users;
    if (mask != own) continue;
    ++sharers;
    if (other < rank) ++before;
  }
  const int all = static_cast<int>(std::ssize(cores));
  const Cores usable = cores_in(cores, own);
  const int count = static_cast<int>(std::ssize(usable));
  CoreShare share;
  share.of_node = std::max(1, std::min(all, quota));
  if (users > sharers || quota < all || sharers > count) {
    const int ranks = static_cast<int>(std::ssize(masks));
    share.cores = std::max(1, std::min(share.of_node / ranks, count / users));
    return share;
  }
  const auto [first, last] = equal_run(count, before, sharers);
  share.cores = last - first;
  share.own_cores.assign(usable.begin() + first, usable.begin() + last);
  return share;
}

}  // namespace triax
