// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of every rank by kind, computed from the peaks of the plan before anything is allocated.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/executor/step_buffers.hpp"
#include "src/forecast/message_plan.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Bytes by kind.
struct KindBytes {
  std::int64_t parameters = 0;  // that the rank keeps
  std::int64_t gradients = 0;   // that the rank keeps
  std::int64_t master = 0;      // float32 copies of 16-bit parameters
  std::int64_t optimizer = 0;   // optimizer states, as moments
  std::int64_t gathered = 0;    // whole gradients (ZeRO-2), gathered parameters (ZeRO-3), and
                                // offloaded shards of parameters while they are on the device
  std::int64_t activations =
      0;  // between layers, and frames: what layers keep for their backward pass
  std::int64_t buffers =
      0;  // scratch, batches, plans, bounce buffers of files, and the program with its libraries
  std::int64_t communication =
      0;  // MPI's buffers of messages under way, and shared memory for messages
  std::int64_t total() const;
  KindBytes& operator+=(const KindBytes& other);
  KindBytes& operator-=(const KindBytes& other);
  bool operator==(const KindBytes&) const = default;
};

/// A kind and its name.
struct MemoryKind {
  std::string_view name;
  std::int64_t KindBytes::*bytes;
};
inline constexpr std::array<MemoryKind, 8> memory_kinds = {
    {{"parameters", &KindBytes::parameters},
     {"gradients", &KindBytes::gradients},
     {"master", &KindBytes::master},
     {"optimizer", &KindBytes::optimizer},
     {"gathered", &KindBytes::gathered},
     {"activations", &KindBytes::activations},
     {"buffers", &KindBytes::buffers},
     {"communication", &KindBytes::communication}}};

/// Memory of one rank by location. In a run on the CPU both are host memory: `host` is what counts
/// as offloaded, `device` the rest. `nvme`: bytes of the rank's offload files.
struct RankMemory {
  KindBytes device, host, nvme;
  MemorySpace space = MemorySpace::host;  // of `device`
  /// Bytes in the memory of the machine, and in the memory of a GPU.
  KindBytes in_memory() const;
  KindBytes on_gpu() const { return space == MemorySpace::device ? device : KindBytes{}; }
  std::int64_t resident() const { return in_memory().total(); }
  /// Bytes in the scarcer memory: of the GPU if there is one, else of the machine.
  KindBytes scarce() const { return space == MemorySpace::device ? device : in_memory(); }
  bool operator==(const RankMemory&) const = default;
};

/// Bytes a rank allocates, as their owners count them: planned before the run, or counted in it.
struct Allocations {
  StateBytes state;
  OptimizerBytes optimizer;
  StepMemory step;
  std::int64_t batches = 0, tables = 0;
  std::int64_t numbers = 0;  // sums and factors of a step, on a GPU
  std::int64_t plans = 0;
  std::int64_t staging = 0;   // bounce buffers between state and files
  std::int64_t snapshot = 0;  // copy of the state for a checkpoint that is being written
  MemorySpace space = MemorySpace::host;  // space of state and step; batches are on the host too
  bool operator==(const Allocations&) const = default;
};
/// Bytes in memory, device and host together, with communication 0. `program`: bytes of the process
/// before it allocates.
KindBytes by_kind(const Allocations& allocations, std::int64_t program);
/// Bytes in GPU memory: the sizes of arena_parts() by kind; all 0 in a run on the CPU.
KindBytes on_gpu_by_kind(const Allocations& allocations);
/// Regions of a GPU's arena, in order.
std::vector<ArenaPart> arena_parts(const Allocations& allocations);

/// Reserves of GPU memory beside the arena; estimates, not measured on this machine.
/// `cuda_reserve`, per rank: code that CUDA and its libraries load at first use (the context is not
/// part of the free memory). `nccl_reserve`, per group that NCCL connects: its buffers.
/// `nvls_reserve`, per rank of the group on a node with more than two, if NVLink switches sum
/// (NVLS): at most 32 channels x 2 directions x 8 steps of 128 KiB; at most 8 GPUs share such
/// switches. `nccl_peer_reserve`, per neighbouring stage: 32 channels, each with a receive buffer
/// of 10 MiB and a send buffer of 2 MiB over NVLink (p2pSendSetup and p2pRecvSetup in NCCL 2.30's
/// transport/p2p.cc; counted on H100 in NVIDIA/nccl issue 1685). Over the network it is less:
/// channels x 16 steps x 128 KiB per direction, once for all ranks (sharedNetBuffersInit).
inline constexpr std::int64_t cuda_reserve = std::int64_t{512} << 20;
inline constexpr std::int64_t nccl_reserve = std::int64_t{256} << 20;
inline constexpr std::int64_t nvls_reserve = 32 * 2 * 8 * (std::int64_t{128} << 10);
inline constexpr int most_nvls_ranks = 8;
inline constexpr std::int64_t nccl_peer_reserve = 32 * (std::int64_t{12} << 20);
/// Upper bound of the number of groups that NCCL connects for one rank.
int nccl_groups(const PlacedConfig& config);
/// Bytes reserved for NCCL's groups and for neighbouring stages.
std::int64_t nccl_bytes(const PlacedConfig& config);
/// Bytes in offload files.
KindBytes stored_by_kind(const Allocations& allocations);

/// Allocations of a rank of `stage` (which includes the tensor rank). Data ranks are planned alike,
/// although with shard groups only the first group keeps a snapshot: it writes the checkpoints.
Allocations planned_allocations(const PlacedConfig& config, const StepPlans& plans,
                                const Stage& stage);
/// Bytes of a rank's batches, of the numbers of a step, and of the plans of all stages, which every
/// rank builds.
std::int64_t batch_bytes(const Config& config, const BatchShape& shape);
std::int64_t number_bytes(const Config& config);
std::int64_t plan_bytes(const StepPlans& plans);
/// Largest temporary bytes of loading weights and of saving and restoring checkpoints.
std::int64_t staging_of(const PlacedConfig& config, const std::vector<ParameterBlock>& blocks);

/// Memory of a rank of a stage, by its tensor rank. `program`: as for MemoryPlan.
RankMemory rank_memory(const PlacedConfig& config, const StepPlans& plans, int stage,
                       int tensor_rank, std::int64_t program);

class MemoryPlan {
 public:
  /// `program`: bytes of the process before it allocates.
  MemoryPlan(const PlacedConfig& config, const StepPlans& plans, std::int64_t program);

  const GridShape& grid() const { return grid_; }
  const RankMemory& of(int rank) const;
  int stage_of(int rank) const { return grid_.coordinate(rank, Axis::pipeline); }
  /// First of the ranks with the most bytes in the scarcer memory.
  int fullest() const;
  /// Ranks of the node that needs the most memory, with `ranks_per_node` consecutive ranks per
  /// node.
  std::vector<int> fullest_node(int ranks_per_node) const;

 private:
  GridShape grid_;
  std::vector<RankMemory> places_;  // (stage, tensor rank)
};

}  // namespace triax
