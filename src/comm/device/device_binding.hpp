// SPDX-License-Identifier: Apache-2.0
#pragma once
// Assigns a GPU to each rank: arithmetic over what all ranks found. Pinned memory lies near the
// rank's cores, which touch it first; NCCL chooses the network cards.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Decides whether ranks that find counts[r] GPUs compute on GPUs: as `asked`, or if nothing is
/// asked, whenever a rank finds one. UsageError, the same on all ranks, if GPUs are to be used and
/// some rank finds none.
bool compute_on_devices(std::optional<MemorySpace> asked, const std::vector<int>& counts);

/// A GPU as one rank sees it.
struct FoundDevice {
  std::int64_t part = 0;  // DevicePlace::part: the same on every rank of the node
  int near = 0;           // nearness() between this rank and the GPU
};

/// Chooses a GPU for each rank of a node. found[rank] lists GPUs in the rank's own numbering, which
/// a launcher may have cut (srun --gpu-bind) or reordered (CUDA_VISIBLE_DEVICES). In rank order,
/// each rank takes the first of the least used GPUs. Then ranks move to nearer GPUs with fewer
/// ranks, or to any GPU with at least two ranks fewer, and trade GPUs if that brings both nearer in
/// total. Gains that need several moves at once are not searched: with partly overlapping lists a
/// GPU may stay unused.
std::vector<int> choose_devices(const std::vector<std::vector<FoundDevice>>& found);

/// Number of distinct GPUs in use. addresses[r]: DevicePlace::address of rank r's GPU;
/// first_of_node[r]: first rank on the node of rank r.
int distinct_devices(const std::vector<std::int64_t>& addresses,
                     const std::vector<int>& first_of_node);

/// Ranks that share the memory of the GPU of `rank`, ascending. parts[r]: DevicePlace::part of rank
/// r's GPU.
std::vector<int> ranks_with_device(int rank, const std::vector<std::int64_t>& parts,
                                   const std::vector<int>& first_of_node);

/// "8 GPUs (NVIDIA H200), one per rank", "4 ranks share 2 GPUs (...)".
std::string devices_text(int ranks, int devices, const std::string& name);

}  // namespace triax
