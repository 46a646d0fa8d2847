// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the tests of ProcessGrid: the ranks of the test, and the members of a group.
#include <cstdint>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// The stream of all messages of a test.
inline const Stream stream;

inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// A node map with all ranks on one node. MPI's search for nodes is the slowest part of making a
/// grid; only the test about that search uses it.
inline std::vector<int> one_node() {
  return std::vector<int>(static_cast<std::size_t>(world_size()), 0);
}

/// Grid ranks of a group, in the group's order.
inline std::vector<int> members(Communicator& group, int grid_rank) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(group.size()));
  std::int32_t mine = grid_rank;
  group.all_gather(stream, Tensor(all.data(), {group.size()}), Tensor(&mine, {1})).wait(stream);
  return {all.begin(), all.end()};
}

}  // namespace triax
