#pragma once
// Which GPU each rank computes on: arithmetic over what all ranks found.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Whether ranks that find `counts` GPUs each compute on them: as was asked, or where nothing was,
/// if there are any. UsageError, the same on all ranks, where some rank would have none.
bool compute_on_devices(std::optional<MemorySpace> asked, const std::vector<int>& counts);

/// A GPU as one rank finds it.
struct FoundDevice {
  std::int64_t part = 0;  // DevicePlace::part: the same for every rank of the node
  int near = 0;           // nearness() of this rank to it
};

/// Which of the GPUs that it finds each rank of a node computes on. found[rank]: in the rank's own
/// numbering, which a launcher may have cut (srun --gpu-bind) or turned (CUDA_VISIBLE_DEVICES). In
/// order of ranks each takes the first of those that fewest have; then ranks move to nearer ones
/// that fewer have, and to any that two fewer have, and trade where that brings them nearer
/// together. What only several moves at once would bring is not looked for: where launchers show
/// ranks lists that overlap in part, a GPU may be left over.
std::vector<int> choose_devices(const std::vector<std::vector<FoundDevice>>& found);

/// How many GPUs the ranks have. `addresses`: of each rank's GPU, DevicePlace::address;
/// `first_of_node`: of each rank, the first of those on its node.
int distinct_devices(const std::vector<std::int64_t>& addresses,
                     const std::vector<int>& first_of_node);

/// The ranks that share the memory of the GPU of `rank`, ascending. `parts`: of each rank's GPU,
/// DevicePlace::part.
std::vector<int> ranks_with_device(int rank, const std::vector<std::int64_t>& parts,
                                   const std::vector<int>& first_of_node);

/// "8 GPUs (NVIDIA H200), one a rank", "4 ranks share 2 GPUs (...)".
std::string devices_text(int ranks, int devices, const std::string& name);

}  // namespace triax
