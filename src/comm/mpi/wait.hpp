#pragma once
// The one place where a rank waits for MPI.
#include <mpi.h>

#include "kernels/base/wait.hpp"
#include "src/comm/interface/message_progress.hpp"

namespace triax {

/// Returns when `request` is complete, with MPI's return code (the caller knows what to say of it).
/// Every message of MPI in this process makes progress meanwhile, and what `progress` has.
[[nodiscard]] int wait_for(MPI_Request& request, WaitPolicy policy,
                           MPI_Status* status = MPI_STATUS_IGNORE,
                           MessageProgress* progress = nullptr);

}  // namespace triax
