#pragma once
// The one place where a rank waits for MPI.
#include <mpi.h>

#include "kernels/base/wait.hpp"

namespace triax {

/// Returns when `request` is complete, with MPI's return code (the caller knows what to say of it).
/// Every message of this process makes progress meanwhile.
[[nodiscard]] int wait_for(MPI_Request& request, WaitPolicy policy,
                           MPI_Status* status = MPI_STATUS_IGNORE);

}  // namespace triax
