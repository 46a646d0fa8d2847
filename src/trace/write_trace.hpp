// SPDX-License-Identifier: Apache-2.0
#pragma once
// trace.json: the times of all ranks' instructions, gathered after the traced steps.
#include <string>

#include "src/comm/grid/process_grid.hpp"
#include "src/executor/step_recorder.hpp"
#include "src/plan/step_plan.hpp"

namespace triax {

/// Name of the file in run.directory.
inline constexpr const char* trace_file = "trace.json";

/// Writes the stamps of all ranks to `path`, on rank 0. Returns there why the file could not be
/// written; empty if it was. A file that cannot be written is no failure of the run. Collective.
std::string write_trace(ProcessGrid& grid, const StepRecorder& recorder, const StepPlans& plans,
                        const std::string& path);

}  // namespace triax
