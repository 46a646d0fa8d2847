// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives within a node, through shared memory small enough to stay in its caches.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/interface/exchange.hpp"
#include "src/comm/mpi/shared_slots.hpp"

namespace triax {

/// Collectives of one group of ranks, in rounds. In each round a rank *contributes* (copies into
/// its slot what the others need), *reduces* its own piece once all have contributed, and *gathers*
/// what others reduced or contributed. A slot holds a few rounds, so a rank can run ahead of
/// others; counters in the slots tell how far each rank is. Rounds of several operations follow
/// each other. Sums are those of rank_order_sum().
class NodeExchange final : public Exchange {
 public:
  /// Collective over `ranks`, which are on one node. usable() tells whether they can share memory.
  NodeExchange(MPI_Comm ranks, const std::string& where);

  bool usable() const override { return !slots_.empty(); }
  const std::string& refusal() const override { return slots_.refusal(); }
  int ranks_sharing() const override { return size_; }
  bool divides(std::int64_t) const override { return true; }
  std::uint64_t all_reduce(const Tensor& data) override;
  std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input) override;
  std::uint64_t all_gather(const Tensor& whole, std::int64_t begin, std::int64_t bytes,
                           const std::byte* own) override;
  bool over(std::uint64_t operation) const override { return gathered_ >= operation; }
  bool advance() override;
  bool others_attend() const override;
  void attend(bool here) override;

 private:
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather };
  struct Operation {
    Kind kind{};
    DType type{};
    std::byte* data = nullptr;         // one piece per rank
    const std::byte* in = nullptr;     // all_gather: this rank's slice
    std::byte* out = nullptr;          // reduce_scatter: this rank's sums
    std::int64_t stride = 0;           // from one rank's shard of data to the next
    std::int64_t bytes = 0;            // of each shard; all_reduce: of data
    std::uint64_t first = 0, end = 0;  // rounds
  };
  struct Piece {
    std::int64_t offset, bytes;  // in data
  };
  struct Counters;

  std::uint64_t begin(Operation operation, std::int64_t round_bytes);
  Operation& of(std::uint64_t round, std::size_t& at);
  Piece piece(const Operation& operation, std::uint64_t round, int rank) const;
  Counters& counters(int rank) const;
  // Memory of `rank` for a round: all of it (in an all_gather, its contribution for everyone), its
  // contribution for rank `to`, and its reduced piece.
  std::byte* room(int rank, std::uint64_t round) const;
  std::byte* contribution(int rank, std::uint64_t round, int to) const;
  std::byte* result(int rank, std::uint64_t round) const;
  bool all_past(std::vector<std::uint64_t>& seen, std::uint64_t round, int counter) const;
  void contribute();
  void reduce();
  void gather();

  SharedSlots slots_;
  int rank_ = 0, size_ = 1;
  std::int64_t piece_bytes_ = 0;  // bytes of a contribution to one rank
  // Round counters: begun (all operations), and how far this rank is.
  std::uint64_t begun_ = 0, contributed_ = 0, reduced_ = 0, gathered_ = 0;
  std::vector<std::uint64_t> seen_contributed_, seen_reduced_,
      seen_gathered_;  // last seen counters of the others
  // Operations under way, oldest first; those before `gathering_` are complete.
  std::vector<Operation> operations_;
  std::size_t contributing_ = 0, reducing_ = 0, gathering_ = 0;
  std::vector<const std::byte*> terms_;
};

}  // namespace triax
