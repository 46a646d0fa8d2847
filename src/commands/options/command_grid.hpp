// SPDX-License-Identifier: Apache-2.0
#pragma once
// The process grid of a command without a job file.
#include <functional>
#include <optional>

#include "src/comm/grid/process_grid.hpp"

namespace triax {

/// Timeout of commands whose ranks may wait long for one that computes alone.
inline constexpr double long_wait = 43200.0;  // seconds

/// Calls `body` on every rank of a grid over all ranks, each bound to its cores, with its threads
/// running and one instruction set for all. Only rank 0 logs more than errors. `timeout`: seconds
/// that a rank waits for the others; 0: for ever. `space`: nothing: on GPUs if there are any.
/// Collective.
void with_grid(const GridShape& shape, double timeout, std::optional<MemorySpace> space,
               const std::function<void(ProcessGrid&)>& body);

}  // namespace triax
