#include "src/comm/device_binding.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {

bool compute_on_devices(std::optional<MemorySpace> asked, const std::vector<int>& counts) {
  if (asked == MemorySpace::host) return false;
  const auto without = std::find(counts.begin(), counts.end(), 0);
  if (without == counts.end()) return true;
  if (!asked) return false;
  throw UsageError(
      fmt::format("run.device is gpu, and rank {} finds none", without - counts.begin()),
      "no CUDA device there, or this build of triax has none of CUDA (-DTRIAX_CUDA=ON)",
      "Run where nvidia-smi shows a GPU on every node, or set run.device to cpu");
}

std::vector<int> nearest_devices(const std::vector<std::vector<int>>& near) {
  const std::size_t ranks = near.size();
  std::vector<int> devices;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    devices.push_back(device_of(static_cast<int>(rank), static_cast<int>(near[rank].size())));
  const auto nearness = [&](std::size_t rank, std::size_t as) {
    return near[rank][static_cast<std::size_t>(devices[as])];
  };
  // Each trade brings ranks nearer to their GPUs altogether, so that there is a last one.
  for (bool traded = true; traded;) {
    traded = false;
    for (std::size_t a = 0; a < ranks; ++a)
      for (std::size_t b = a + 1; b < ranks; ++b)
        if (nearness(a, b) + nearness(b, a) > nearness(a, a) + nearness(b, b)) {
          std::swap(devices[a], devices[b]);
          traded = true;
        }
  }
  return devices;
}

int distinct_devices(const std::vector<std::int64_t>& places,
                     const std::vector<int>& first_of_node) {
  std::set<std::pair<int, std::int64_t>> distinct;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    distinct.emplace(first_of_node[rank], places[rank]);
  return static_cast<int>(distinct.size());
}

std::vector<int> ranks_with_device(int rank, const std::vector<std::int64_t>& places,
                                   const std::vector<int>& first_of_node) {
  const auto own = static_cast<std::size_t>(rank);
  std::vector<int> ranks;
  for (std::size_t r = 0; r < places.size(); ++r)
    if (places[r] == places[own] && first_of_node[r] == first_of_node[own])
      ranks.push_back(static_cast<int>(r));
  return ranks;
}

std::string devices_text(int ranks, int devices, const std::string& name) {
  const std::string what = fmt::format("{} GPU{} ({})", devices, devices == 1 ? "" : "s", name);
  return devices == ranks ? what + ", one a rank" : fmt::format("{} ranks share {}", ranks, what);
}

}  // namespace triax
