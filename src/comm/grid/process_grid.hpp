#pragma once
// The 3D grid of ranks: tensor x pipeline x data, by MPI's Cartesian topology.
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
  /// Collective over `world`, whose size must be shape.size(): a UsageError says what would fit.
  /// A tensor group that would span nodes (MPI_Comm_split_type) is a UsageError with the remedy.
  /// All ranks throw alike. `node_of_rank` replaces what MPI says of nodes: a number for each rank
  /// of `world` (tests, and machines whose fast links join several nodes or part of one).
  /// `timeout`: seconds after which a wait in this grid ends the job (Watchdog); 0: never.
  /// `space`: where the tensors of messages are; none: on GPUs where every rank finds one. Each
  /// rank is bound to one then, round robin on its node; UsageError where GPUs are asked for and a
  /// rank finds none.
  /// `settle` is called when this rank's share of the cores and that space are known, and before
  /// there is the memory that large messages go through: it lies near the core that it is made on.
  using Settle = std::function<void(const CoreShare& share, MemorySpace space)>;
  ProcessGrid(MPI_Comm world, const GridShape& shape, const std::vector<int>& node_of_rank = {},
              double timeout = 0.0, std::optional<MemorySpace> space = MemorySpace::host,
              const Settle& settle = {});
  ~ProcessGrid();
  ProcessGrid(const ProcessGrid&) = delete;
  ProcessGrid& operator=(const ProcessGrid&) = delete;

  const GridShape& shape() const;
  int rank() const;  // in the grid
  int size() const;
  int data_rank() const;
  int pipeline_rank() const;
  int tensor_rank() const;
  int node_rank() const;  // among the ranks of this node
  int node_size() const;
  int nodes() const;
  /// The ranks that share this rank's machine, itself among them, ascending.
  const std::vector<int>& ranks_of_node() const;
  int node_cores() const;  // that the ranks of this node may use, together
  /// Of those, what this rank gets when the user says nothing.
  const CoreShare& cores() const;
  /// Where the tensors of messages may be, beside host memory.
  MemorySpace space() const;
  /// "8 GPUs (NVIDIA H200), one a rank: messages by NCCL 2.28.9"; "the CPU" without.
  std::string devices() const;
  /// The ranks that compute on this rank's GPU, itself among them, ascending; none without.
  const std::vector<int>& ranks_of_device() const;
  /// Whether messages of a device's memory go through host memory, and what that has come to hold.
  bool stages_messages() const;
  std::int64_t staging_bytes() const;
  /// How every communicator of this grid waits; chosen once from node_size() and node_cores().
  WaitPolicy wait_policy() const;
  std::string place() const;  // "rank 5 (data 1, pipeline 0, tensor 1) on host"

  /// What the ranks do, for the report of a wait without end.
  ProgressBoard& board();
  /// Collective. From here on that report has what ranks of other nodes do: `directory` is one that
  /// all nodes see, and of this run.
  void report_across_nodes(const std::string& directory);
  /// Blocks the caller until `stream` has done all that it has now. On a device that may hang in a
  /// message: it is noted as a wait for the oldest one; Error where messages fail.
  void drain(const Stream& stream);
  /// Likewise until `event` is done.
  void drain(const Event& event);
  /// For waits outside of its communicators.
  WaitWatch* watch() const;

  /// All ranks of the grid: for messages of host memory alone.
  Communicator& world();
  /// All ranks, for messages of memory of space().
  Communicator& everywhere();
  /// The ranks that differ from this one along `axis` only.
  Communicator& along(Axis axis);
  Communicator& data() { return along(Axis::data); }
  Communicator& pipeline() { return along(Axis::pipeline); }
  Communicator& tensor() { return along(Axis::tensor); }
  /// First and last pipeline stage (where tied embeddings are summed); size 1 on stages between,
  /// and where there is one stage.
  Communicator& embedding();
  /// `parts` equal runs of neighbouring ranks of an axis: the run this rank is in (key/value heads
  /// shared by several tensor ranks; the shard groups of hybrid sharding). Collective over the axis
  /// at the first call; Error where its ranks cannot share memory that those of the axes do.
  Communicator& part(Axis axis, int parts);
  /// The ranks at this one's place in each of the `parts` runs. Collective likewise.
  Communicator& across(Axis axis, int parts);
  /// run_within_node() of this grid.
  int run_within_node(Axis axis) const;
  /// What this rank sent along `axis` since the start: along(axis) and the groups within it (runs
  /// and those across them; the embedding group counts as pipeline).
  Traffic traffic(Axis axis) const;
  /// How long messages of this rank took along `axis` since the start, and how much of that it
  /// spent on them: those of host memory, of the same groups.
  MessageTimes message_times(Axis axis) const;
  /// Whether any of them is under way now: its memory must stay. Those of world() and of devices
  /// are not looked for.
  bool has_messages() const;
  /// Collective, before messages: finds for each group of ranks that share memory of which sizes
  /// its messages go there (choose_sizes), of the groups that are made so far. It tries them in
  /// `memory`, which nobody uses meanwhile; in least_trial_bytes of its own where that is less.
  void choose_messages(std::span<std::byte> memory);
  /// What it found, a line for each group of this rank: "messages of the data axis: sums from 64
  /// KiB on and gathers from 16 KiB on go through memory that its 2 ranks share".
  std::vector<std::string> shared_messages() const;
  /// Why ranks of a node share no memory, so that MPI has all messages, on every node alike; empty:
  /// nothing hinders them. The same on all ranks.
  const std::string& not_shared() const;
  /// run_within_node() where all nodes let their ranks share memory, else 1.
  int ranks_sharing(Axis axis) const;
  /// For HDF5: the whole grid. Apart from world(): their messages never mix.
  MPI_Comm mpi() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace triax
