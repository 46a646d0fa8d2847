#pragma once
// Which GPU each rank computes on: arithmetic over what all ranks found.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Whether ranks that find `counts` GPUs each compute on them: as was asked, or where nothing was,
/// if all have one. UsageError, the same on all ranks, where GPUs are asked for and a rank has
/// none.
bool compute_on_devices(std::optional<MemorySpace> asked, const std::vector<int>& counts);

/// The GPU of a rank that finds `count`: by its number on the node, round robin.
constexpr int device_of(int node_rank, int count) {
  return node_rank % count;
}

/// The GPU of each rank of a node: as many ranks on each as device_of() puts there, and ranks that
/// are nearer to another's GPU than it trade with it. near[rank][GPU]: nearness().
std::vector<int> nearest_devices(const std::vector<std::vector<int>>& near);

/// How many GPUs the ranks have. `places`: of each rank's GPU, DeviceFacts::place; `first_of_node`:
/// of each rank, the first of those on its node.
int distinct_devices(const std::vector<std::int64_t>& places,
                     const std::vector<int>& first_of_node);

/// The ranks that have the same GPU as `rank`, ascending.
std::vector<int> ranks_with_device(int rank, const std::vector<std::int64_t>& places,
                                   const std::vector<int>& first_of_node);

/// "8 GPUs (NVIDIA H200), one a rank", "4 ranks share 2 GPUs (...)".
std::string devices_text(int ranks, int devices, const std::string& name);

}  // namespace triax
