// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_binding.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

namespace {

// Assignment of GPUs to the ranks of a node, with the number of ranks on each GPU.
class Choice {
 public:
  explicit Choice(const std::vector<std::vector<FoundDevice>>& found) : found_(found) {
    for (const auto& own : found) {
      const auto fewest = std::ranges::min_element(
          own, {}, [&](const FoundDevice& device) { return having_[device.part]; });
      chosen_.push_back(fewest - own.begin());
      ++having_[fewest->part];
    }
  }

  // Terminates: each move or trade makes the shares more equal, or leaves them equal and brings
  // ranks nearer to their GPUs in total.
  void bring_nearer() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t a = 0; a < found_.size(); ++a) {
        changed |= move(a);
        for (std::size_t b = a + 1; b < found_.size(); ++b) changed |= trade(a, b);
      }
    }
  }

  std::vector<int> numbers() const { return {chosen_.begin(), chosen_.end()}; }

 private:
  const FoundDevice& of(std::size_t rank) const {
    return found_[rank][static_cast<std::size_t>(chosen_[rank])];
  }

  bool move(std::size_t rank) {
    for (std::size_t d = 0; d < found_[rank].size(); ++d) {
      const FoundDevice& other = found_[rank][d];
      const int fewer = having_[of(rank).part] - having_[other.part];
      if (fewer < (other.near > of(rank).near ? 1 : 2)) continue;
      --having_[of(rank).part];
      ++having_[other.part];
      chosen_[rank] = static_cast<std::ptrdiff_t>(d);
      return true;
    }
    return false;
  }

  bool trade(std::size_t a, std::size_t b) {
    const auto for_a = std::ranges::find(found_[a], of(b).part, &FoundDevice::part);
    const auto for_b = std::ranges::find(found_[b], of(a).part, &FoundDevice::part);
    if (for_a == found_[a].end() || for_b == found_[b].end()) return false;
    if (for_a->near + for_b->near <= of(a).near + of(b).near) return false;
    chosen_[a] = for_a - found_[a].begin();
    chosen_[b] = for_b - found_[b].begin();
    return true;
  }

  const std::vector<std::vector<FoundDevice>>& found_;
  std::vector<std::ptrdiff_t> chosen_;
  std::map<std::int64_t, int> having_;
};

}  // namespace

bool compute_on_devices(std::optional<MemorySpace> asked, const std::vector<int>& counts) {
  if (asked == MemorySpace::host) return false;
  const auto without = std::ranges::find(counts, 0);
  if (without == counts.end()) return true;
  if (!asked && std::ranges::all_of(counts, [](int count) { return count == 0; })) return false;
  const auto rank = without - counts.begin();
  throw UsageError(
      asked ? fmt::format("run.device is gpu, and rank {} finds none", rank)
            : fmt::format("rank {} finds no GPU, and other ranks do", rank),
      "no CUDA device there, or triax was built without CUDA (-DTRIAX_CUDA=ON adds it)",
      "Run where nvidia-smi shows a GPU on every node, or set run.device to cpu");
}

std::vector<int> choose_devices(const std::vector<std::vector<FoundDevice>>& found) {
  Choice choice(found);
  choice.bring_nearer();
  return choice.numbers();
}

int distinct_devices(const std::vector<std::int64_t>& addresses,
                     const std::vector<int>& first_of_node) {
  std::set<std::pair<int, std::int64_t>> distinct;
  for (std::size_t rank = 0; rank < addresses.size(); ++rank)
    distinct.emplace(first_of_node[rank], addresses[rank]);
  return static_cast<int>(distinct.size());
}

std::vector<int> ranks_with_device(int rank, const std::vector<std::int64_t>& parts,
                                   const std::vector<int>& first_of_node) {
  const auto own = static_cast<std::size_t>(rank);
  std::vector<int> ranks;
  for (std::size_t r = 0; r < parts.size(); ++r)
    if (parts[r] == parts[own] && first_of_node[r] == first_of_node[own])
      ranks.push_back(static_cast<int>(r));
  return ranks;
}

std::string devices_text(int ranks, int devices, const std::string& name) {
  const std::string what = fmt::format("{} GPU{} ({})", devices, devices == 1 ? "" : "s", name);
  return devices == ranks ? what + ", one per rank" : fmt::format("{} ranks share {}", ranks, what);
}

}  // namespace triax
