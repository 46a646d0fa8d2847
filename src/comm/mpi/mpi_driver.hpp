// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes MPI progress its messages.
#include <mpi.h>

#include <string>

#include "kernels/base/mpi/message_progress.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "src/comm/mpi/owned_handle.hpp"

namespace triax {

/// MPI progresses messages only inside its calls and has no call for that alone. This class probes
/// a communicator on which nobody sends. MPI_COMM_SELF does not work: MPICH then polls only the
/// process itself. A communicator with messages does not either: MPICH stops at the first
/// unexpected one.
class MpiDriver final : public MovesMessages {
 public:
  /// `place` names this rank in errors and must outlive the object.
  explicit MpiDriver(const std::string& place) : place_(place) {}
  /// The communicator to probe, of this process and others. Set it before the first advance().
  MPI_Comm* address() { return comm_.address(); }
  /// Always false: MPI_Iprobe does not tell whether a message moved.
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
