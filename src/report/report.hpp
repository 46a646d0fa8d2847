// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report of runs as one HTML page.
#include <optional>
#include <string>
#include <vector>

#include "src/machine/machine.hpp"
#include "src/report/run_data.hpp"

namespace triax {

/// One run: its curves, the traced step beside the predicted one, memory, checkpoints, events, the
/// job. Several: their curves over each other, and what differs. `machine`: predicts the step too;
/// without it the plan is replayed with the run's own durations. Requires a KernelRuntime if the
/// run has a trace.
std::string report_html(const std::vector<RunData>& runs, const std::optional<Machine>& machine);

/// Whether the run's directory has a trace.
bool has_trace(const RunData& run);

}  // namespace triax
