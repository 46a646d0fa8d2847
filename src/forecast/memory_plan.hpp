// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of every rank by kind, from the plan's own peaks, before any of it is taken.
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
  std::int64_t parameters = 0;     // that the rank keeps
  std::int64_t gradients = 0;      // that the rank keeps
  std::int64_t master = 0;         // float32 copies of 16-bit parameters
  std::int64_t optimizer = 0;      // moments
  std::int64_t gathered = 0;       // whole gradients (ZeRO-2) and parameters (ZeRO-3), and shards
                                   // of parameters that a device's run has offloaded, for a while
  std::int64_t activations = 0;    // between layers, and what layers keep for their backward pass
  std::int64_t buffers = 0;        // scratch, batches, plans, what is on its way to or from files,
                                   // and the program with its libraries
  std::int64_t communication = 0;  // MPI's own, for messages under way, and what is shared for them
  std::int64_t total() const;
  KindBytes& operator+=(const KindBytes& other);
  KindBytes& operator-=(const KindBytes& other);
  bool operator==(const KindBytes&) const = default;
};

/// The kinds in the order in which they are shown.
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

/// By place. Where no GPU computes the device is the host, and `host` is what was offloaded to it.
/// `nvme` is a disk, which every rank has its own part of.
struct RankMemory {
  KindBytes device, host, nvme;
  MemorySpace space = MemorySpace::host;  // of the device
  /// Bytes in the machine's own memory, and in that of a GPU.
  KindBytes in_memory() const;
  KindBytes on_gpu() const { return space == MemorySpace::device ? device : KindBytes{}; }
  std::int64_t resident() const { return in_memory().total(); }
  /// Bytes in the scarcest memory: of a GPU, else of the machine.
  KindBytes scarce() const { return space == MemorySpace::device ? device : in_memory(); }
  bool operator==(const RankMemory&) const = default;
};

/// Allocations of a rank, as their owners count them: planned, or counted once they are there.
struct Allocations {
  StateBytes state;
  OptimizerBytes optimizer;
  StepMemory step;
  std::int64_t batches = 0, tables = 0;
  std::int64_t numbers = 0;  // sums and factors of a step, on a device
  std::int64_t plans = 0;
  std::int64_t staging = 0;               // between state and files, for a while
  std::int64_t snapshot = 0;              // of the state, for a checkpoint that is being written
  MemorySpace space = MemorySpace::host;  // of state and step; batches are on the host too
  bool operator==(const Allocations&) const = default;
};
/// Bytes in memory, device and host together. Communication is left 0; `program`: bytes of the
/// process before anything is allocated.
KindBytes by_kind(const Allocations& allocations, std::int64_t program);
/// Bytes of it in the memory of a GPU that computes: what arena_parts() come to, by kind.
KindBytes on_gpu_by_kind(const Allocations& allocations);
/// Regions of a GPU's arena, in order.
std::vector<ArenaPart> arena_parts(const Allocations& allocations);

/// Reserve of a GPU beside the arena, not measured here: of each rank, for the code that
/// CUDA and its libraries load when they first use it (the context is no part of what is free), and
/// for the buffers of each group of ranks that NCCL connects; where NVLink's switches sum (NVLS,
/// for more than two ranks on a node), also for each rank of the group there: at most 32 channels,
/// two directions, 8 steps of 128 KiB; no node has more than 8 GPUs on such switches. For each rank
/// that it exchanges messages with between stages: 32 channels, each of which has, by NVLink, a
/// buffer of 10 MiB to receive and one of 2 MiB to send (p2pSendSetup and p2pRecvSetup of
/// NCCL 2.30's transport/p2p.cc; NVIDIA/nccl issue 1685 counts them on H100). By the network it is
/// less: channels x 16 steps x 128 KiB a direction, once for all ranks (sharedNetBuffersInit).
inline constexpr std::int64_t cuda_reserve = std::int64_t{512} << 20;
inline constexpr std::int64_t nccl_reserve = std::int64_t{256} << 20;
inline constexpr std::int64_t nvls_reserve = 32 * 2 * 8 * (std::int64_t{128} << 10);
inline constexpr int most_nvls_ranks = 8;
inline constexpr std::int64_t nccl_peer_reserve = 32 * (std::int64_t{12} << 20);
/// Groups of a rank of such a job that NCCL connects, at most.
int nccl_groups(const PlacedConfig& config);
/// Bytes reserved for them.
std::int64_t nccl_bytes(const PlacedConfig& config);
/// Bytes in offload files.
KindBytes stored_by_kind(const Allocations& allocations);

/// The allocations of every rank of a stage and tensor rank: data ranks are alike, but that with
/// shard groups the first one alone keeps a snapshot, for it writes the checkpoints.
Allocations planned_allocations(const PlacedConfig& config, const StepPlans& plans,
                                const Stage& stage);
/// Batches of a rank, the numbers of a step, and the plans of one, which every rank builds.
std::int64_t batch_bytes(const Config& config, const BatchShape& shape);
std::int64_t number_bytes(const Config& config);
std::int64_t plan_bytes(const StepPlans& plans);
/// The most that loading weights, and saving and restoring checkpoints, take for a while.
std::int64_t staging_of(const PlacedConfig& config, const std::vector<ParameterBlock>& blocks);

class MemoryPlan {
 public:
  /// `program`: bytes of a process of this program that has allocated nothing yet.
  MemoryPlan(const PlacedConfig& config, const StepPlans& plans, std::int64_t program);

  const GridShape& grid() const { return grid_; }
  const RankMemory& of(int rank) const;
  int stage_of(int rank) const { return grid_.coordinate(rank, Axis::pipeline); }
  /// The first rank of those with the most of what there is least room for.
  int fullest() const;
  /// The ranks of that of the nodes with `ranks_per_node` neighbouring ranks each which takes the
  /// most.
  std::vector<int> fullest_node(int ranks_per_node) const;

 private:
  GridShape grid_;
  std::vector<RankMemory> places_;  // (stage, tensor rank)
};

}  // namespace triax
