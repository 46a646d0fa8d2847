#pragma once
// metrics.jsonl: one JSON object a line, floats written so that they read back bit for bit.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace triax {

struct StepMetrics {
  std::int64_t step = 0;
  double loss = 0, grad_norm = 0, lr = 0;
  std::int64_t tokens = 0;  // so far
  double tokens_per_second = 0, step_seconds = 0;
  std::optional<double> mfu;
  std::optional<double> loss_scale;    // of this step (fp16)
  bool skipped = false;                // not finite: the step changed nothing
  bool loss_spike = false;             // far above the losses before it
  std::int64_t peak_memory_bytes = 0;  // largest over ranks
  std::int64_t bytes_sent_data = 0, bytes_sent_tensor = 0,
               bytes_sent_pipeline = 0;  // this step, all ranks
  std::int64_t messages_sent_data = 0, messages_sent_tensor = 0, messages_sent_pipeline = 0;
};

/// A run that went back to a checkpoint because of a loss spike.
struct RollbackMetrics {
  std::int64_t step = 0;        // the next one: that of the checkpoint
  std::int64_t spike_step = 0;  // whose loss was the spike
  double spike_loss = 0;
  std::string checkpoint;
  std::int64_t sample = 0;           // the first that the next step trains on
  std::int64_t samples_skipped = 0;  // before it, since the checkpoint
  int number = 1;                    // of the rollback at its place
};

/// Where lines go that a later run takes back: a file beside metrics.jsonl, which is appended to.
std::string superseded_metrics(const std::string& path);

/// Whether the last whole line of the file is the numbers of this step, with no validation behind
/// them. False where it cannot be read.
bool ends_with_step(const std::string& path, std::int64_t step);

/// Lines reach the file one by one. Where the disk is full they wait in memory, in order, and go
/// out with the next one that fits: a run goes on. Those that still wait when it ends are lost, and
/// sync() says so before.
class MetricsWriter {
 public:
  /// Opens (creates) `path` to append. Lines of steps >= `first_step` are moved to
  /// superseded_metrics() first, so that a resumed run repeats no step, and a torn last line is
  /// removed; the rewrite is atomic. Error where a file cannot be written.
  MetricsWriter(const std::string& path, std::int64_t first_step);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  void write(const StepMetrics& metrics);
  void write_valid(std::int64_t step, double valid_loss, std::int64_t tokens);
  /// {"event":"rollback", ...}. It is of the step that follows: a run that makes that step again
  /// takes the line back.
  void write_rollback(const RollbackMetrics& rollback);
  /// How many lines were moved.
  std::int64_t set_aside() const { return set_aside_; }
  /// Whether a line of the step before `first_step` has a validation loss.
  bool has_validation() const { return has_validation_; }
  /// Why lines wait; empty: none do.
  const std::string& problem() const { return problem_; }
  /// All lines on disk, safe from a crash of the machine. Error where some still wait.
  void sync();

 private:
  void line(const std::string& text);
  void flush();

  std::string path_;
  int file_ = -1;
  std::int64_t set_aside_ = 0;
  bool has_validation_ = false;
  std::string waiting_, problem_;
};

}  // namespace triax
