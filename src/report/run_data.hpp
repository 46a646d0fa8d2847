// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of a run directory, read for people: curves, events, the job.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace triax {

/// A curve over steps. x ascends; y is finite.
struct Series {
  std::vector<double> x, y;
  void add(double step, double value) {
    x.push_back(step);
    y.push_back(value);
  }
  bool empty() const { return x.empty(); }
};

/// Quantity of metrics.jsonl that has a curve.
struct Quantity {
  const char* key;    // in metrics.jsonl
  const char* title;  // of its chart
  const char* unit;
};
/// "loss" first.
inline constexpr Quantity quantities[] = {{"loss", "Training loss", ""},
                                          {"valid_loss", "Validation loss", ""},
                                          {"grad_norm", "Gradient norm", ""},
                                          {"lr", "Learning rate", ""},
                                          {"tokens_per_second", "Tokens per second", "tokens/s"},
                                          {"step_seconds", "Seconds per step", "s"},
                                          {"mfu", "Model FLOPs utilisation", ""},
                                          {"loss_scale", "Loss scale", ""},
                                          {"peak_memory_bytes", "Peak memory of a rank", "bytes"}};
inline constexpr std::size_t quantity_count = std::size(quantities);

/// An event of a run, in words.
struct RunEvent {
  std::string time;  // as events.jsonl has it; empty: unknown
  std::int64_t step = 0;
  std::string kind, text;
};

struct CheckpointTime {
  std::int64_t step = 0;
  double seconds = 0.0, bytes = 0.0;  // 0: unknown
};

struct RunData {
  std::string directory, name;
  std::vector<Series> curves;              // by quantity
  std::int64_t steps_done = 0, steps = 0;  // steps 0: unknown
  double tokens = 0.0;                     // so far
  std::int64_t skipped = 0, spikes = 0;    // steps
  std::vector<RunEvent> events;
  std::vector<CheckpointTime> checkpoints;
  nlohmann::ordered_json job, start, memory;  // job.json; the newest such events; null: none
  std::vector<std::string> notes;             // lines or files that could not be read
  double updated = 0.0;                       // time of metrics.jsonl, seconds since 1970
  bool ended = false;                         // the run's newest event is an end

  const Series& curve(const char* key) const;
};

/// UsageError if the directory holds no run. A line that is cut, and files that are half written,
/// are named in `notes`.
RunData read_run(const std::string& directory);

}  // namespace triax
