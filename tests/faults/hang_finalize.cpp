// SPDX-License-Identifier: Apache-2.0
// Library to preload into triax (LD_PRELOAD): a network that hangs at the end of MPI. MPI_Finalize
// of rank 1 returns only after five minutes, and the other ranks wait for it.
#include <mpi.h>

#include <chrono>
#include <thread>

extern "C" int MPI_Finalize() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) std::this_thread::sleep_for(std::chrono::minutes(5));
  return PMPI_Finalize();
}
