// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory shared by the ranks of a node, one slot per rank.
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/base/process/shared_memory.hpp"

namespace triax {

/// Each rank makes its slot near its own cores and opens those of the others. Unlike with an MPI
/// window, freeing waits for no other rank.
class SharedSlots {
 public:
  /// An empty set: nothing is shared.
  SharedSlots() = default;
  /// Collective over `ranks`; waits without spinning. Each slot has `bytes` bytes, zeroed, starting
  /// at a page boundary. If one rank cannot share, all are left without slots: see refusal().
  /// `where` names this rank in MPI errors.
  SharedSlots(MPI_Comm ranks, const char* label, std::size_t bytes, const std::string& where);

  bool empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  std::byte* slot(int rank) const { return slots_[static_cast<std::size_t>(rank)].data(); }
  /// The rank that could not share and its reason, the same on all ranks; empty if all could.
  const std::string& refusal() const { return refusal_; }

 private:
  std::vector<SharedMemory> slots_;
  std::string refusal_;
};

}  // namespace triax
