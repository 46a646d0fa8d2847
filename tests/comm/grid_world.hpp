#pragma once
// What the tests of ProcessGrid share: the ranks of the test, and who is in a group of a grid.
#include <cstdint>
#include <vector>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// What all messages of a test are issued on.
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

/// The whole world on one node. MPI's own search for nodes is the slowest part of making a grid; it
/// is left to the test that is about it.
inline std::vector<int> one_node() {
  return std::vector<int>(static_cast<std::size_t>(world_size()), 0);
}

/// The ranks of the grid in a group, in the group's order.
inline std::vector<int> members(Communicator& group, int grid_rank) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(group.size()));
  std::int32_t mine = grid_rank;
  group.all_gather(stream, Tensor(all.data(), {group.size()}), Tensor(&mine, {1})).wait(stream);
  return {all.begin(), all.end()};
}

}  // namespace triax
