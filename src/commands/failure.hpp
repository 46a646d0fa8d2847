// SPDX-License-Identifier: Apache-2.0
#pragma once
// End of a command by an error.
#include <exception>
#include <optional>
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/comm/launch/mpi_session.hpp"
#include "src/config/config.hpp"
#include "src/launch/run_lock.hpp"

namespace triax {

/// Reports an error that ends the program. If all ranks call it, the error is printed once and the
/// exit status returned. If only some do, it aborts the job: the others may be waiting for them.
int fail(MpiSession& session, const std::string& text, int status);

/// Ends a run by `error` while the buffers of messages under way still exist. Returns the exit
/// status, or releases `lock` and aborts the job. `has_trainer`: the offload files are this run's.
int fail_run(MpiSession& session, const ProcessGrid& grid, const Config& config, bool has_trainer,
             std::optional<RunLock>& lock, const std::exception& error);

}  // namespace triax
