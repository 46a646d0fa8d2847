// SPDX-License-Identifier: Apache-2.0
#include "kernels/base/mpi/wait.hpp"

#include "kernels/base/mpi/mpi_error.hpp"

namespace triax {

int wait_for(MPI_Request& request, WaitPolicy policy, MPI_Status* status,
             MessageProgress* progress) {
  for (PatientProgress patience(progress, policy);; patience.pause()) {
    int done = 0;
    const int code = MPI_Test(&request, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

void wait_yielding(MPI_Request& request) {
  check_mpi(wait_for(request, WaitPolicy::yield), "MPI_Wait", file_ranks);
}

}  // namespace triax
