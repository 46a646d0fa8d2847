#pragma once
// Where a job's offloaded state goes on this rank, and what is said of it.
#include "src/comm/process_grid.hpp"
#include "src/config/config.hpp"
#include "src/schedule/plan.hpp"
#include "src/state/optimizer.hpp"

namespace triax {

/// A file in `directory` for this rank alone; runs of another run.directory have others. `what`
/// ends its name.
OffloadPlace offload_place(const Config& config, const ProcessGrid& grid,
                           const std::string& directory, const char* what);

/// Where the optimizer's state is kept, for a plan of these peaks.
StateBuffers state_buffers(const Config& config, const ProcessGrid& grid, const Peaks& peaks);

/// A line each for what is offloaded.
void announce_offload(const ZeroConfig& zero, const Optimizer& optimizer,
                      const ParameterStore& store);

}  // namespace triax
