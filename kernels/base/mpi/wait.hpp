// SPDX-License-Identifier: Apache-2.0
#pragma once
// The single wait loop for MPI requests.
#include <mpi.h>

#include "kernels/base/mpi/message_progress.hpp"
#include "kernels/base/wait.hpp"

namespace triax {

/// Returns MPI's return code once `request` is complete; the caller knows how to report an error.
/// Meanwhile every MPI message of this process and everything in `progress` (null: nothing)
/// advances.
[[nodiscard]] int wait_for(MPI_Request& request, WaitPolicy policy,
                           MPI_Status* status = MPI_STATUS_IGNORE,
                           MessageProgress* progress = nullptr);

/// Waits with WaitPolicy::yield, for file operations of ranks that may share cores. Error where MPI
/// fails. Sums of DirectExchange make no progress meanwhile: none that another rank waits for may
/// be under way.
void wait_yielding(MPI_Request& request);

/// `where` of errors in MPI calls of file operations.
inline constexpr const char* file_ranks = "the ranks that open, read or write one file together";

}  // namespace triax
