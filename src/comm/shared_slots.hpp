#pragma once
// Memory that the ranks of a node share: a slot each.
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/progress_slot.hpp"

namespace triax {

/// POSIX shared memory without a name, which the system frees with the last process that has it:
/// unlike an MPI window, no rank waits for another to let go of it.
class SharedSlots {
 public:
  /// Collective over `node`, the ranks of a node, without spinning. Slots are as constructed. Error
  /// where the system gives no memory; `where` names this rank.
  SharedSlots(MPI_Comm node, const std::string& where);
  ~SharedSlots();
  SharedSlots(const SharedSlots&) = delete;
  SharedSlots& operator=(const SharedSlots&) = delete;

  /// By rank of the node.
  const std::vector<ProgressSlot*>& slots() const { return slots_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<ProgressSlot*> slots_;
};

}  // namespace triax
