// Preloaded into triax (LD_PRELOAD): a network that hangs as MPI ends. MPI_Finalize of the process
// of PMI_RANK 1 does not return for a minute; that of the others waits for it.
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

extern "C" int MPI_Finalize() {
  const char* rank = std::getenv("PMI_RANK");
  if (rank != nullptr && std::string_view(rank) == "1")
    std::this_thread::sleep_for(std::chrono::minutes(1));
  return PMPI_Finalize();
}
