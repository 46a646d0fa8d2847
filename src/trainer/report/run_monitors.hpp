// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files for programs that watch a run: TensorBoard's event files (run.tensorboard) and OpenMetrics
// (run.openmetrics). Rank 0 only.
#include <memory>
#include <optional>
#include <string>

#include "io/metrics/event_file.hpp"
#include "io/metrics/open_metrics.hpp"
#include "src/config/config.hpp"
#include "src/config/outputs.hpp"

namespace triax {

/// Folder of the event files in run.directory.
inline constexpr const char* tensorboard_folder = "tensorboard";

/// Nothing is written where the job asks for nothing. A file that cannot be written never ends a
/// run.
class RunMonitors {
 public:
  /// The job in TensorBoard is that of job.json in run.directory.
  RunMonitors(const RunConfig& run, const OutputConfig& outputs, std::int64_t first_step);
  ~RunMonitors();
  RunMonitors(const RunMonitors&) = delete;
  RunMonitors& operator=(const RunMonitors&) = delete;

  void step(const StepMetrics& metrics);
  void valid(std::int64_t step, double loss, const std::optional<PairMetrics>& pairs = {});
  /// Problem that was not reported yet; empty: none.
  std::string take_problem();

 private:
  void note(const std::string& problem);
  void update_state(bool running);

  std::int64_t steps_;  // of the run
  std::unique_ptr<EventFile> events_;
  std::optional<OpenMetricsFile> state_file_;
  RunState state_;
  bool has_step_ = false;
  std::string problem_, reported_;
};

}  // namespace triax
