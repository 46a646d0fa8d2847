#pragma once
// Memory that ranks of a node share: a slot each.
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/base/process/shared_memory.hpp"

namespace triax {

/// Each rank makes its slot, near its own cores, and opens those of the others. Unlike with an MPI
/// window, no rank waits for another to let go of it.
class SharedSlots {
 public:
  /// Nothing is shared.
  SharedSlots() = default;
  /// Collective over `ranks`, without spinning. Slots of `bytes` each begin at a page, as zeros.
  /// Where a rank cannot share, none of them has any: refusal(). `where` names this rank in errors
  /// of MPI.
  SharedSlots(MPI_Comm ranks, const char* label, std::size_t bytes, const std::string& where);

  bool empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  std::byte* slot(int rank) const { return slots_[static_cast<std::size_t>(rank)].data(); }
  /// Which rank could not share, and why; empty: all could. The same on all of them.
  const std::string& refusal() const { return refusal_; }

 private:
  std::vector<SharedMemory> slots_;
  std::string refusal_;
};

}  // namespace triax
