// SPDX-License-Identifier: Apache-2.0
#pragma once
// metrics.jsonl: one JSON object per line, with floats that read back bit for bit.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/metrics/pair_metrics.hpp"

namespace triax {

struct StepMetrics {
  std::int64_t step = 0;  // counted from 0
  /// Counted from 1: the step's number in log lines and messages.
  std::int64_t number() const { return step + 1; }
  double loss = 0, grad_norm = 0, lr = 0;
  std::int64_t tokens = 0;  // so far
  /// Label tokens of the global batch, over which the loss is a mean; none: every token. A step
  /// with 0 changed nothing.
  std::optional<std::int64_t> label_tokens;
  bool without_labels() const { return label_tokens == 0; }
  double tokens_per_second = 0, step_seconds = 0;
  std::optional<double> mfu;
  std::optional<double> loss_scale;  // of this step (fp16)
  bool skipped = false;              // gradient norm not finite: the step changed nothing
  bool loss_spike = false;           // far above the losses before it
  std::optional<PairMetrics> pairs;  // of preference data
  /// Epochs of each source of blended data so far, by its name.
  std::vector<std::pair<std::string, double>> epochs;
  std::int64_t peak_memory_bytes = 0;  // largest over ranks
  std::int64_t bytes_sent_data = 0, bytes_sent_tensor = 0,
               bytes_sent_pipeline = 0;  // this step, all ranks
  std::int64_t messages_sent_data = 0, messages_sent_tensor = 0, messages_sent_pipeline = 0;
};

/// A rollback to a checkpoint after a loss spike.
struct RollbackMetrics {
  std::int64_t step = 0;        // step of the checkpoint, where training continues
  std::int64_t spike_step = 0;  // step with the spike
  double spike_loss = 0;
  std::string checkpoint;
  std::int64_t sample = 0;           // first sample of the next step
  std::int64_t samples_skipped = 0;  // samples between the checkpoint and `sample`
  int number = 1;                    // rollbacks in a row, this one included
};

/// Path of the file beside metrics.jsonl that collects the lines of repeated steps.
std::string superseded_metrics(const std::string& path);

/// Whether the last whole line of the file is the training line of `step`, with no validation line
/// behind it. False where the file cannot be read.
bool ends_with_step(const std::string& path, std::int64_t step);

/// Appends lines one by one. While the disk is full, lines wait in memory, in order, until they
/// fit, and training continues. Lines that still wait at the end of the run are lost; sync() throws
/// an Error first.
class MetricsWriter {
 public:
  /// Opens (creates) `path` to append. First moves lines of steps >= `first_step` to
  /// superseded_metrics(), so that no step stands twice, and removes torn lines; the rewrite is
  /// atomic. Error where a file cannot be written.
  MetricsWriter(const std::string& path, std::int64_t first_step);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  void write(const StepMetrics& metrics);
  void write_valid(std::int64_t step, double valid_loss, std::int64_t tokens,
                   const std::optional<PairMetrics>& pairs = {});
  /// Writes {"event":"rollback", ...} with the number of the step that follows: a run that repeats
  /// that step moves the line away.
  void write_rollback(const RollbackMetrics& rollback);
  /// Number of lines that the constructor moved.
  std::int64_t set_aside() const { return set_aside_; }
  /// Validation loss in the line of step `first_step` - 1, NaN where it was not finite; none: there
  /// is no such line.
  std::optional<double> validation() const { return validation_; }
  /// Reason why lines wait; empty: none wait.
  const std::string& problem() const { return problem_; }
  /// Syncs all lines to disk, so that they survive a crash of the machine. Error where some still
  /// wait.
  void sync();

 private:
  void line(const std::string& text);
  void flush();

  std::string path_;
  int file_ = -1;
  std::int64_t set_aside_ = 0;
  std::optional<double> validation_;
  std::string waiting_, problem_;
};

}  // namespace triax
