// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files for people and monitors that a run writes if the job asks for them: run.trace_steps,
// run.tensorboard, run.openmetrics.
#include <cstdint>
#include <string>

namespace triax {

/// Steps whose instructions are timed: [first, end), counted from 0.
struct TraceSteps {
  std::int64_t first = 0, end = 0;
  bool holds(std::int64_t step) const { return step >= first && step < end; }
  std::int64_t count() const { return end - first; }
  bool operator==(const TraceSteps&) const = default;
};

struct OutputConfig {
  TraceSteps trace = {};         // empty: none
  bool tensorboard = false;      // TensorBoard's event files in <run.directory>/tensorboard
  std::string openmetrics = {};  // file with the state of the run for monitors; empty: none
  bool operator==(const OutputConfig&) const = default;
};

/// The keys of a resolved job: its JSON text with every default filled in, as in LoadedJob.
OutputConfig output_config(const std::string& resolved_job);

}  // namespace triax
