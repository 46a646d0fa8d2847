// SPDX-License-Identifier: Apache-2.0
#include "src/commands/options/command_grid.hpp"

#include <spdlog/spdlog.h>

#include "kernels/parallel/runtime.hpp"
#include "src/comm/launch/isa_of_job.hpp"
#include "src/launch/threads.hpp"

namespace triax {

void with_grid(const GridShape& shape, double timeout, std::optional<MemorySpace> space,
               const std::function<void(ProcessGrid&)>& body) {
  ProcessGrid grid(MPI_COMM_WORLD, shape, {}, timeout, space,
                   [](const CoreShare& share, MemorySpace on) { bind_to_cores(share, on); });
  {
    const WaitScope agreeing(grid.watch());
    agree_on_isa(grid.mpi());
  }
  if (grid.rank() != 0) spdlog::set_level(spdlog::level::err);
  const KernelRuntime kernels(threads_of_rank(grid));
  body(grid);
}

}  // namespace triax
