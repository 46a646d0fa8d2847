#pragma once
// Collectives of a group that lies on several nodes: within each node through memory that its ranks
// share, between the nodes by MPI, each rank with those of its place on the other nodes.
#include <string>
#include <vector>

#include "src/comm/host/mpi_communicator.hpp"
#include "src/comm/host/node_exchange.hpp"
#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// With N nodes of L ranks each, a rank sends 1/L of what it would without (all_reduce: the sum of
/// its node's ranks over its part), and no message but those crosses nodes. An operation *sums* in
/// the node, *crosses* between nodes, and *spreads* in the node; gathers do not sum,
/// reduce-scatters do not spread. Each step has memory or a communicator of its own, in which the
/// operations follow each other in the order in which they began, so that all ranks agree on it
/// whatever the timing. (Thakur, Rabenseifner, Gropp 2005, section 5; NCCL's trees and Horovod's
/// hierarchical all-reduce divide the work so.)
///
/// Sums within a node are those of rank_order_sum, and so are those between nodes
/// (MpiCommunicator): 16-bit ones are rounded once in each.
class HierarchicalExchange final : public Exchange {
 public:
  /// Collective over `ranks`, of which each `run` that follow each other are on one node; `run`
  /// divides their number, and is neither 1 nor all of them. `where` names this rank and the group.
  /// The ranks come together just before: some of this is in blocking calls.
  HierarchicalExchange(MPI_Comm ranks, int run, WaitPolicy policy, const std::string& where);

  bool usable() const override { return refusal_.empty(); }
  const std::string& refusal() const override { return refusal_; }
  int ranks_sharing() const override { return run_; }
  bool divides(std::int64_t elements) const override { return elements % run_ == 0; }
  std::uint64_t all_reduce(const Tensor& data) override;
  /// What is left in `input` is undefined, but for `output` where that is a part of it.
  std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input) override;
  std::uint64_t all_gather(const Tensor& whole, std::int64_t begin, std::int64_t bytes,
                           const std::byte* own) override;
  bool over(std::uint64_t operation) const override { return ended_ >= operation; }
  bool advance() override;
  /// Of this rank's node; of the others nothing is known.
  bool others_attend() const override {
    return summing_.others_attend() || spreading_.others_attend();
  }
  void attend(bool here) override {
    summing_.attend(here);
    spreading_.attend(here);
  }

 private:
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather };
  struct Operation {
    Kind kind{};
    Tensor data{};                      // all ranks' parts
    Tensor output{};                    // reduce_scatter
    std::int64_t begin = 0, bytes = 0;  // all_gather: of each part
    std::uint64_t summed = 0;           // of summing_
    Request crossing{};                 // of crossing_
    std::uint64_t spread = 0;           // of spreading_
  };

  std::uint64_t begin(Operation operation);
  Operation& at(std::uint64_t number) { return operations_[number - first_]; }
  void cross(Operation& operation);
  void spread(Operation& operation);

  int run_;           // ranks of a node
  int node_, place_;  // of this rank: its node, and its place there
  int nodes_;
  // Groups are made first, in blocking calls: no rank is kept from them by its node's memory.
  OwnedComm ranks_of_node_;
  MpiCommunicator crossing_;
  NodeExchange summing_, spreading_;
  std::string refusal_;
  std::vector<Operation> operations_;  // those under way, the oldest first
  std::uint64_t first_ = 0;            // the number of operations_[0]
  // Operations begun, and how many of them have come to cross, to spread, and to their end.
  std::uint64_t begun_ = 0, crossed_ = 0, spread_ = 0, ended_ = 0;
};

}  // namespace triax
