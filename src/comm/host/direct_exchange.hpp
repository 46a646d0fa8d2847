// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over ranks by direct point-to-point messages between all pairs of ranks.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "src/comm/interface/planned_messages.hpp"

namespace triax {

/// Each rank sums one shard of a tensor: it receives that shard from every other rank and sends
/// each other rank's shard to it. An all-reduce then sends the sums to all ranks in the same way.
/// Each of p ranks sends (p - 1) / p of the tensor per direction, in the tensor's own type. Sums
/// are those of rank_order_sum(): in rank order, in float32, rounded once, whatever the timing.
/// MPI's own reductions promise none of this: they round at each of up to p - 1 steps, send whole
/// vectors up and down a tree (Open MPI, in place), or count in int.
///
/// Shards are sent in pieces. A *step* is one message of a piece: step s sends to the rank s
/// positions ahead and receives from the rank s positions behind, so that all ranks have equal
/// work. Steps begin in order, at most direct::window of them under way. A piece is summed when it
/// has arrived from all ranks. No rank gets further ahead than the window, which also bounds what
/// is sent to a late rank.
///
/// All ranks begin the same operations in the same order; several may be under way. No call waits.
/// Memory is allocated when the first operation of its size begins, and kept.
class DirectExchange {
 public:
  /// `ranks` has at least two ranks and no other messages with `tag`. `where` names this rank and
  /// the group in errors and must outlive the object.
  DirectExchange(MPI_Comm ranks, int tag, const std::string& where);
  /// Must run before `ranks` is freed. Cancels the receives of unfinished operations (after an
  /// error). Data already arriving may still be written, so the process must end soon.
  ~DirectExchange();
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;

  // Each call begins an operation and returns its ticket: over(ticket) is true once it is complete.
  // Tensors are as in Communicator, not empty, of a type with has_rank_order_sum().
  std::uint64_t all_reduce(const Tensor& data);
  std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input);
  bool over(std::uint64_t operation) const { return freed_ >= operation; }

  /// Does work that is possible now; returns false if there was none.
  bool advance();
  /// Memory held now: direct::held_bytes() of the largest shard so far.
  std::uint64_t held_bytes() const { return memory_.bytes(); }
  /// Frees that memory. Error while an operation is under way.
  void release_held();

 private:
  struct Operation {
    DType type{};
    std::byte* data = nullptr;         // one shard per rank
    std::byte* out = nullptr;          // reduce_scatter: this rank's sums; null: sums stay in data
    std::int64_t bytes = 0;            // size of data
    std::int64_t stride = 0;           // from one rank's shard of data to the next
    std::int64_t piece = 0;            // largest message, in bytes
    std::int64_t pieces = 0;           // number of pieces of the largest shard
    std::uint64_t first = 0, end = 0;  // steps
  };
  struct Run {
    std::int64_t offset, bytes;  // in data; 0 bytes if a shard has fewer pieces
  };
  struct Step {
    bool gathers;         // true: sends finished sums to all
    std::int64_t number;  // piece index
    int distance;         // position offset of the destination rank
  };
  struct Messages {
    MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
    std::int64_t expected = 0;  // bytes to receive
    int from = 0;
  };

  std::uint64_t begin(Operation operation, bool gathers);
  Operation& of(std::uint64_t step, std::size_t& at);
  Step step_of(const Operation& operation, std::uint64_t step) const;
  Run run(const Operation& operation, int rank, std::int64_t piece) const;
  std::byte* room(std::uint64_t step) const;
  bool has_room(const Operation& operation);
  bool start_step();
  bool finish_step();
  void send(Messages& messages, const std::byte* data, std::int64_t bytes, int to);
  void receive(Messages& messages, std::byte* data, std::int64_t bytes, int from);
  bool complete(Messages& messages) const;
  void sum(const Operation& operation, std::int64_t piece);

  MPI_Comm ranks_;
  int tag_;
  const std::string& where_;
  int rank_ = 0, size_ = 1;
  Buffer memory_;           // messages_held() slots
  std::uint64_t room_ = 0;  // bytes per slot
  // Step counters: begun (all operations), started, done, and freed (done, and the received data is
  // summed, so that the slot is free again).
  std::uint64_t begun_ = 0, started_ = 0, done_ = 0, freed_ = 0;
  std::array<Messages, direct::window> under_way_;  // indexed by step modulo window
  // Operations under way, oldest first; those before `finishing_` are complete.
  std::vector<Operation> operations_;
  std::size_t starting_ = 0, finishing_ = 0;
  std::vector<const std::byte*> terms_;
};

}  // namespace triax
