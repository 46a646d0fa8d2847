// SPDX-License-Identifier: Apache-2.0
#pragma once
// The end of a command by an error.
#include <exception>
#include <optional>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/config/config.hpp"
#include "src/launch/run_lock.hpp"

namespace triax {

/// Reports an error that ends the program. One that every rank meets is printed once, and the
/// program ends in order; one that some ranks alone meet ends the job, since the others may be
/// waiting for them. Returns the exit status.
int fail(MpiSession& session, const std::string& text, int status);

/// Ends a run by `error`, while the memory of messages under way still stands. Returns the exit
/// status, or aborts the job. `has_trainer`: the offload files are this run's. Gives up `lock`
/// where the process ends here.
int fail_run(MpiSession& session, const ProcessGrid& grid, const Config& config, bool has_trainer,
             std::optional<RunLock>& lock, const std::exception& error);

}  // namespace triax
