#pragma once
// Has MPI move its messages on.
#include <mpi.h>

#include <string>

#include "kernels/base/mpi/message_progress.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// MPI moves messages on within calls only, and has none that does nothing else: this one looks for
/// a message on a communicator on which nobody sends. (MPI_COMM_SELF will not do: MPICH looks at
/// itself alone for it. Nor will one with messages: MPICH stops at the first unexpected one.)
class MpiDriver final : public MovesMessages {
 public:
  /// `place` names this rank, and outlives the object.
  explicit MpiDriver(const std::string& place) : place_(place) {}
  /// Of this process and others; to be set before the first use.
  MPI_Comm* address() { return comm_.address(); }
  /// Never knows that something moved.
  bool advance() override {
    int found = 0;
    if (comm_.get() != MPI_COMM_NULL)
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_.get(), &found, MPI_STATUS_IGNORE),
                "MPI_Iprobe", place_);
    return false;
  }

 private:
  const std::string& place_;
  OwnedComm comm_;
};

}  // namespace triax
