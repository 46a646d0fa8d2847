#pragma once
// The one place where a rank waits for MPI.
#include <mpi.h>

#include <cstdint>

namespace triax {

/// spin: ask MPI without pause, and only after a while let others have the core between; right when
/// every rank of the node has a core. yield: ask a few times, then leave the core to others. With
/// more ranks than cores a spinning rank keeps the one it waits for from running: an 8-float
/// all-reduce of 8 ranks on 2 cores takes 51 ms so, and below 1 ms with yield.
enum class WaitPolicy : std::uint8_t { spin, yield };

/// spin where `ranks_on_node` have a core each, yield otherwise.
constexpr WaitPolicy wait_policy(int ranks_on_node, int cores_of_node) {
  return ranks_on_node <= cores_of_node ? WaitPolicy::spin : WaitPolicy::yield;
}

/// Returns when `request` is complete, with MPI's return code (the caller knows what to say of it).
/// Every message of this process makes progress meanwhile.
[[nodiscard]] int wait_for(MPI_Request& request, WaitPolicy policy,
                           MPI_Status* status = MPI_STATUS_IGNORE);

}  // namespace triax
