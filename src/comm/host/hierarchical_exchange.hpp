// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collectives of a group spread over several nodes: through shared memory within each node, and by
// MPI between nodes, where each rank talks to the ranks of its own position on the other nodes.
#include <string>
#include <vector>

#include "src/comm/host/mpi_communicator.hpp"
#include "src/comm/host/node_exchange.hpp"
#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// With L ranks per node, a rank sends 1/L of the tensor between nodes (in an all_reduce: its shard
/// of the node's sum), and nothing else crosses nodes. An operation *sums* within the node,
/// *crosses* between nodes and *spreads* within the node; gathers skip the sum, reduce-scatters
/// skip the spread. Each phase has its own memory or communicator, in which operations follow each
/// other in the order they were begun, so all ranks agree on it whatever the timing. (Thakur,
/// Rabenseifner, Gropp 2005, section 5; NCCL's trees and Horovod's hierarchical all-reduce divide
/// the work in the same way.)
///
/// Sums within a node and between nodes (MpiCommunicator) are those of rank_order_sum(): 16-bit
/// sums are rounded once in each.
class HierarchicalExchange final : public Exchange {
 public:
  /// Collective over `ranks`; every `run` consecutive ranks are on one node. `run` divides their
  /// number, and is neither 1 nor all of them. `where` names this rank and the group in errors.
  /// Ranks should meet just before, since part of the construction blocks and spins.
  HierarchicalExchange(MPI_Comm ranks, int run, WaitPolicy policy, const std::string& where);

  bool usable() const override { return refusal_.empty(); }
  const std::string& refusal() const override { return refusal_; }
  int ranks_sharing() const override { return run_; }
  bool divides(std::int64_t elements) const override { return elements % run_ == 0; }
  std::uint64_t all_reduce(const Tensor& data) override;
  /// `input` is undefined afterwards, except `output` if it is a shard of it.
  std::uint64_t reduce_scatter(const Tensor& output, const Tensor& input) override;
  std::uint64_t all_gather(const Tensor& whole, std::int64_t begin, std::int64_t bytes,
                           const std::byte* own) override;
  bool over(std::uint64_t operation) const override { return ended_ >= operation; }
  bool advance() override;
  /// Covers this rank's node; nothing is known of the others.
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
    Tensor data{};                      // the shards of all ranks
    Tensor output{};                    // reduce_scatter
    std::int64_t begin = 0, bytes = 0;  // all_gather: range of each shard
    std::uint64_t summed = 0;           // ticket of summing_
    Request crossing{};                 // message of crossing_
    std::uint64_t spread = 0;           // ticket of spreading_
  };

  std::uint64_t begin(Operation operation);
  Operation& at(std::uint64_t number) { return operations_[number - first_]; }
  void cross(Operation& operation);
  void spread(Operation& operation);

  int run_;           // ranks per node
  int node_, place_;  // of this rank: its node, and its position there
  int nodes_;
  // ranks_of_node_ and crossing_ come first: they are made by blocking calls, and no rank may miss
  // those because its node cannot share memory.
  OwnedComm ranks_of_node_;
  MpiCommunicator crossing_;
  NodeExchange summing_, spreading_;
  std::string refusal_;
  std::vector<Operation> operations_;  // under way, oldest first
  std::uint64_t first_ = 0;            // number of operations_[0]
  // Number of operations begun, and of those that have reached the crossing, the spread and the
  // end.
  std::uint64_t begun_ = 0, crossed_ = 0, spread_ = 0, ended_ = 0;
};

}  // namespace triax
