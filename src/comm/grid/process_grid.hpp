// SPDX-License-Identifier: Apache-2.0
#pragma once
// The 3D grid of ranks (data x pipeline x tensor) as an MPI Cartesian topology.
#include <mpi.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/mpi/wait.hpp"
#include "src/comm/grid/grid_shape.hpp"
#include "src/comm/interface/communicator.hpp"
#include "src/comm/interface/message_clock.hpp"
#include "src/comm/topology/topology.hpp"
#include "src/comm/watchdog/progress_board.hpp"

namespace triax {

class ProcessGrid {
 public:
  /// Collective over `world`. UsageError on all ranks if its size is not shape.size(), with sizes
  /// that would fit, or if a tensor group would span nodes (MPI_Comm_split_type), with the
  /// remedies. `node_of_rank` replaces MPI's view of nodes: one node number per rank of `world`
  /// (for tests, and for machines whose fast links join several nodes or only part of one).
  /// `timeout`: seconds after which a wait in this grid ends the job (Watchdog); 0: never. `space`:
  /// where message tensors lie; nullopt: on GPUs if any rank finds one, else on the host. On GPUs
  /// each rank is bound to one (choose_devices()); UsageError if some rank finds none.
  /// `settle` is called once this rank's cores and the space are known, before message memory is
  /// allocated: memory lies near the core that first touches it.
  using Settle = std::function<void(const CoreShare& share, MemorySpace space)>;
  ProcessGrid(MPI_Comm world, const GridShape& shape, const std::vector<int>& node_of_rank = {},
              double timeout = 0.0, std::optional<MemorySpace> space = MemorySpace::host,
              const Settle& settle = {});
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  const GridShape& shape() const;
  int rank() const;  // rank in the grid
  int size() const;
  int data_rank() const;
  int pipeline_rank() const;
  int tensor_rank() const;
  int node_rank() const;  // rank among the ranks of this node
  int node_size() const;
  int nodes() const;
  /// Ranks on this rank's node, itself included, ascending.
  const std::vector<int>& ranks_of_node() const;
  int node_cores() const;  // cores that the ranks of this node may use together
  /// This rank's default share of them.
  const CoreShare& cores() const;
  /// Memory space of message tensors, beside the host.
  MemorySpace space() const;
  /// "8 GPUs (NVIDIA H200), one per rank: messages by NCCL 2.28.9"; "the CPU" without GPUs.
  std::string devices() const;
  /// Ranks that compute on this rank's GPU, itself included, ascending; empty without a GPU.
  const std::vector<int>& ranks_of_device() const;
  /// True if messages of device memory are staged through host memory; staging_bytes() is what that
  /// holds.
  bool stages_messages() const;
  std::int64_t staging_bytes() const;
  /// Wait policy of every communicator of this grid, chosen once from node_size() and node_cores().
  WaitPolicy wait_policy() const;
  std::string place() const;  // "rank 5 (data 1, pipeline 0, tensor 1) on host"

  /// Activity of each rank, for stall reports.
  ProgressBoard& board();
  /// Collective. From here on stall reports include ranks of other nodes. `directory`: seen by all
  /// nodes, used by this run alone.
  void report_across_nodes(const std::string& directory);
  /// Blocks the caller until `stream` has finished all work issued so far. On a device, which a
  /// message may hang, it is noted as a wait for the oldest message; Error if messages fail.
  void drain(const Stream& stream);
  /// As above, until `event` is done.
  void drain(const Event& event);
  /// Watch for waits outside this grid's communicators.
  WaitWatch* watch() const;

  /// All ranks of the grid, for messages of host memory only.
  Communicator& world();
  /// All ranks, for messages in the memory of space().
  Communicator& everywhere();
  /// Ranks that differ from this one along `axis` only.
  Communicator& along(Axis axis);
  Communicator& data() { return along(Axis::data); }
  Communicator& pipeline() { return along(Axis::pipeline); }
  Communicator& tensor() { return along(Axis::tensor); }
  /// First and last pipeline stage, which sum tied embeddings. Size 1 on stages in between, and if
  /// there is one stage.
  Communicator& embedding();
  /// Subgroup of an axis: `parts` equal ranges of consecutive ranks; returns the range of this rank
  /// (key/value heads shared by several tensor ranks; shard groups of hybrid sharding). Collective
  /// over the axis at the first call. Error if its ranks cannot share memory although those of the
  /// axes do.
  Communicator& part(Axis axis, int parts);
  /// The ranks at this rank's position in each of the `parts` ranges. Collective as part() is.
  Communicator& across(Axis axis, int parts);
  /// triax::run_within_node() of this grid.
  int run_within_node(Axis axis) const;
  /// Traffic of this rank along `axis` since the start: along(axis), part() and across() groups,
  /// and for the pipeline axis the embedding group.
  Traffic traffic(Axis axis) const;
  /// Message times of this rank along `axis` since the start, for messages of host memory in the
  /// same groups.
  MessageTimes message_times(Axis axis) const;
  /// True if any of those messages is under way: its memory must stay. Messages of world() and of
  /// devices are not counted.
  bool has_messages() const;
  /// Collective, before training messages: measures for each group made so far that shares memory
  /// which message sizes use it (choose_sizes()). Trial messages use `memory`, which nobody may use
  /// meanwhile, or memory of their own if it is smaller than least_trial_bytes.
  void choose_messages(std::span<std::byte> memory);
  /// The sizes found, one line per group of this rank: "messages of the data axis: sums from 64 KiB
  /// on and gathers from 16 KiB on go through memory that its 2 ranks share".
  std::vector<std::string> shared_messages() const;
  /// Why ranks of some node cannot share memory, the same on all ranks; MPI then carries all
  /// messages, on every node. Empty if nothing hinders sharing.
  const std::string& not_shared() const;
  /// run_within_node() if the ranks of every node share memory, else 1.
  int ranks_sharing(Axis axis) const;
  /// Communicator of the whole grid for HDF5. It is separate from world(), so their messages never
  /// mix.
  MPI_Comm mpi() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
