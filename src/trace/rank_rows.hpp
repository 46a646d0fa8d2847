// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of one rank in trace.json: its instructions, and the transfers they begin.
#include <span>
#include <string>

#include "io/metrics/trace_writer.hpp"
#include "src/config/outputs.hpp"
#include "src/executor/step_recorder.hpp"
#include "src/schedule/plan.hpp"

namespace triax {

/// A rank whose rows are written.
struct TracedRank {
  int rank = 0;
  int stage = 0;
  int replica = 0;  // number of its (data, tensor) coordinates: messages between stages stay in it
  std::string name;
};

/// Writes the rows of a rank. `stamps`: as StepRecorder::all, of the steps `steps`; `zero` is taken
/// off each. The times of all ranks are of one clock.
void write_rank_rows(TraceWriter& out, const TracedRank& rank, const PlanShape& shape,
                     const Plan& plan, const TraceSteps& steps, std::span<const OpStamps> stamps,
                     std::int64_t zero);

}  // namespace triax
