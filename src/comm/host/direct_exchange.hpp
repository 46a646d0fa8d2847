#pragma once
// Sums over ranks by plain messages, from each rank to each other.
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/device/device.hpp"
#include "src/comm/interface/planned_messages.hpp"

namespace triax {

/// Each rank sums one part of a tensor: it gets that part of every other rank, and sends every
/// other rank's; an all-reduce then sends the sums round in the same way. So (p - 1) / p of the
/// tensor leaves each of p ranks, in the type it has, and sums are those of rank_order_sum: in the
/// order of the ranks and in float32, rounded once, whatever the timing. MPI's own reductions
/// promise none of that: they round at each of up to p - 1 steps, send whole vectors up and down a
/// tree (Open MPI, in place), or count in int.
///
/// Parts go in pieces. The *steps* of a piece are its messages, in step s to the rank s places
/// further and from the one s places before, so that no rank has more to do than others; steps
/// begin in order, and a few are under way (direct::window). A piece is summed when it is there
/// from all ranks. Since a rank goes ahead by no more than that, as little is sent to one that is
/// late.
///
/// All ranks begin the same operations in the same order, and several may be under way. Nothing
/// here waits. Memory is taken as the first operation of a size begins, and kept.
class DirectExchange {
 public:
  /// No other messages of `ranks`, of which there are two or more, have `tag`. `where` names this
  /// rank and the group in errors, and outlives the object.
  DirectExchange(MPI_Comm ranks, int tag, const std::string& where);
  /// Before `ranks` go. Takes back what was to be received where operations are not over, as after
  /// an error: what has begun to come may still come, and the process is to end soon.
  ~DirectExchange();
  DirectExchange(const DirectExchange&) = delete;
  DirectExchange& operator=(const DirectExchange&) = delete;

  // Each begins an operation, which is over where over(what it returned) is true. Tensors as
  // Communicator has them, not empty, of a type that has_rank_order_sum.
  std::uint64_t all_reduce(const Tensor& data);
  std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input);
  bool over(std::uint64_t operation) const { return freed_ >= operation; }

  /// Does what can be done now; false where that is nothing.
  bool advance();
  /// Memory taken so far: direct::held_bytes of the largest part.
  std::uint64_t held_bytes() const { return memory_.bytes(); }
  /// Gives it back, where no operation is under way.
  void release_held();

 private:
  struct Operation {
    DType type{};
    std::byte* data = nullptr;         // what has a part of each rank
    std::byte* out = nullptr;          // reduce_scatter: this rank's sums; null: they stay in data
    std::int64_t bytes = 0;            // of data
    std::int64_t stride = 0;           // from one rank's part of data to the next
    std::int64_t piece = 0;            // bytes of a message at most
    std::int64_t pieces = 0;           // of the largest part
    std::uint64_t first = 0, end = 0;  // steps
  };
  struct Run {
    std::int64_t offset, bytes;  // in data; none where a part has fewer pieces
  };
  struct Step {
    bool gathers;         // sends sums round
    std::int64_t number;  // of the piece
    int distance;         // to the rank that it sends to
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
  Buffer memory_;           // of messages_held, a room each
  std::uint64_t room_ = 0;  // bytes of each
  // Steps: of operations begun, started, done, and those whose rooms are free again: they are done,
  // and what they brought is summed.
  std::uint64_t begun_ = 0, started_ = 0, done_ = 0, freed_ = 0;
  std::array<Messages, direct::window> under_way_;  // by step
  // Those under way, the oldest first; those before `finishing_` are over.
  std::vector<Operation> operations_;
  std::size_t starting_ = 0, finishing_ = 0;
  std::vector<const std::byte*> terms_;
};

}  // namespace triax
