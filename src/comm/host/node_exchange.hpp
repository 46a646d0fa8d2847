#pragma once
// Collectives within a node, through memory that its ranks share and that stays in their caches.
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/interface/exchange.hpp"
#include "src/comm/mpi/shared_slots.hpp"

namespace triax {

/// Collectives of one group of ranks, each in rounds. In a round a rank *contributes*: it puts what
/// others need into its slot; it *reduces* the piece that is its own, once all have contributed;
/// and it *gathers* what others reduced or contributed. A slot has room for a few rounds, so that a
/// rank can go ahead of others; counters in the slots say how far each rank is. Rounds of several
/// operations follow each other. Sums are those of rank_order_sum.
class NodeExchange final : public Exchange {
 public:
  /// Collective over `ranks`, of one machine. usable() says whether they can share memory.
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
    std::byte* data = nullptr;         // what has a piece of each rank
    const std::byte* in = nullptr;     // all_gather: this rank's run
    std::byte* out = nullptr;          // reduce_scatter: this rank's sums
    std::int64_t stride = 0;           // from one rank's part of data to the next
    std::int64_t bytes = 0;            // of each part; all_reduce: of data
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
  // Of `rank`, for a round: all of its room (what it has for all, of an all_gather), what it has
  // for rank `to`, and what it reduced.
  std::byte* room(int rank, std::uint64_t round) const;
  std::byte* contribution(int rank, std::uint64_t round, int to) const;
  std::byte* result(int rank, std::uint64_t round) const;
  bool all_past(std::vector<std::uint64_t>& seen, std::uint64_t round, int counter) const;
  void contribute();
  void reduce();
  void gather();

  SharedSlots slots_;
  int rank_ = 0, size_ = 1;
  std::int64_t piece_bytes_ = 0;  // room for a contribution to one rank
  // Rounds: of operations begun, and how far this rank is.
  std::uint64_t begun_ = 0, contributed_ = 0, reduced_ = 0, gathered_ = 0;
  std::vector<std::uint64_t> seen_contributed_, seen_reduced_, seen_gathered_;  // of others
  // Those under way, the oldest first; those before `gathering_` are over.
  std::vector<Operation> operations_;
  std::size_t contributing_ = 0, reducing_ = 0, gathering_ = 0;
  std::vector<const std::byte*> terms_;
};

}  // namespace triax
