#include "src/comm/mpi/wait.hpp"

namespace triax {

int wait_for(MPI_Request& request, WaitPolicy policy, MPI_Status* status,
             MessageProgress* progress) {
  for (PatientProgress patience(progress, policy);; patience.pause()) {
    int done = 0;
    const int code = MPI_Test(&request, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

}  // namespace triax
