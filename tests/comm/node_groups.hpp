// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the tests of NodeCommunicator: groups that use shared memory wherever it is possible.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <memory>

#include "src/comm/host/hierarchical_exchange.hpp"
#include "src/comm/host/node_communicator.hpp"
#include "src/comm/host/node_exchange.hpp"
#include "tests/comm/rank_world.hpp"

namespace triax {

/// Ranks per simulated node, for groups with more ranks than that; a compile definition of the
/// test. 0: all ranks are on one node.
#ifndef TRIAX_RANKS_OF_A_NODE
#define TRIAX_RANKS_OF_A_NODE 0
#endif
inline constexpr int ranks_of_a_node = TRIAX_RANKS_OF_A_NODE;

inline std::unique_ptr<Exchange> exchange_of(MPI_Comm ranks, int run = ranks_of_a_node) {
  int size = 1;
  MPI_Comm_size(ranks, &size);
  if (run == 0 || run >= size) return std::make_unique<NodeExchange>(ranks, "a test");
  return std::make_unique<HierarchicalExchange>(ranks, run, WaitPolicy::yield, "a test");
}

/// The group of all ranks with the same color.
struct NodeGroup {
  explicit NodeGroup(MessageProgress& progress, int color = 0, ProgressBoard* board = nullptr,
                     int number = 0, MessageClock* clock = nullptr)
      : mpi(split(color), WaitPolicy::yield, "a rank of the test",
            {board, number, &progress, clock}),
        node(mpi, exchange_of(mpi.mpi()), WaitPolicy::yield, {board, number, &progress, clock}) {
    node.set_sizes({});
  }
  static MPI_Comm split(int color) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, rank, &comm);
    return comm;
  }
  MpiCommunicator mpi;
  NodeCommunicator node;
};

/// Values of one rank; their sum over ranks depends on the order.
inline std::vector<float> rough(std::int64_t n, int rank) {
  return filled<float>(n, [rank](std::int64_t i) {
    const double x = std::sin(static_cast<double>(i * 8 + rank + 1) * 12.9898);
    return static_cast<float>(x * std::pow(10.0, static_cast<double>((i + rank) % 7)));
  });
}

struct NodeWorld {
  MessageProgress progress;
  NodeGroup group{progress};
  NodeCommunicator& comm = group.node;
  int rank = comm.rank(), size = comm.size();
};

}  // namespace triax
