// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checkpoints of a run: writing, in the background or not, and removal of older ones.
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "io/checkpoint/checkpoint_background.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/checkpoint/saved_tokenizer.hpp"
#include "src/plan/placement.hpp"

namespace triax {

/// Position of a run in its steps and data when a checkpoint is written.
struct RunPosition {
  std::int64_t step = 0, tokens = 0;  // done
  std::int64_t samples = 0;           // used or skipped; index of the next step's first sample
  std::int64_t data_tokens = 0;       // of all training data
  std::string losses = {};            // LossSpikes::state()
  std::string data_state = {};        // data_state_text()
  std::string validation = {};        // BestLoss::state()
};

/// Writes the checkpoint of a step, then removes older ones beyond checkpoint.keep, except the
/// newest one whose loss was within the spike limit, and the best one. Rank 0 logs it. With
/// checkpoint.async, training continues while the state is copied (until the optimizer's next
/// update) and while the file is written from the copy. A failed write is retried once. All
/// functions except writing() are collective.
class RunCheckpoints {
 public:
  /// `job`: CheckpointHeader::job. All arguments outlive the object. It registers with `optimizer`:
  /// an update waits until the state is copied. `tokenizer` is stored in every file.
  RunCheckpoints(const PlacedConfig& config, const std::string& job, ProcessGrid& grid,
                 ParameterStore& store, Optimizer& optimizer, RunTokenizer tokenizer = {});
  /// `pause` is called on rank 0 before each log line.
  void before_messages(std::function<void()> pause) { pause_ = std::move(pause); }
  /// `action` is called on rank 0 before a file gets its final name: it syncs whatever must be on
  /// disk by then.
  void before_publishing(std::function<void()> action) { before_publishing_ = std::move(action); }

  /// `action` is called on rank 0 after a file got its final name, with the seconds since its write
  /// began.
  using Published = std::function<void(std::int64_t step, const std::string& file, double seconds)>;
  void after_publishing(Published action) { after_publishing_ = std::move(action); }

  /// Returns when the file is written; a failed write is retried once. `loss_scale`:
  /// LossScaler::state(). Error on all ranks if both tries fail; earlier files are untouched then.
  void save(const Stream& stream, const RunPosition& at, const std::string& loss_scale);
  /// As save(), but with checkpoint.async returns once the copy has begun. Waits first for a file
  /// that is still being written.
  void start(const Stream& stream, const RunPosition& at, const std::string& loss_scale);
  /// Whether this rank is writing a file in the background.
  bool writing() const { return background_ && !background_->done(); }
  /// Called after each step. Gives the file its final name when no rank is writing any more.
  /// `any_rank`: whether any rank is writing().
  void proceed(bool any_rank);
  /// Called after each step with equal values on all ranks. `within`: LossSpikes::within; a file of
  /// a later step is unproven (no loss within the spike limit follows it yet) and does not displace
  /// an older, proven one. `beyond`: the last loss was beyond the spike limit; a line then names
  /// the file that is kept for that.
  void judge(std::int64_t within, bool beyond);
  /// Called with the step of the lowest validation loss (checkpoint.keep_best). From the time that
  /// its file is published, that file stays, and the one before it no longer does. Returns whether
  /// there is such a file, or it is being written.
  bool keep_best(std::int64_t step);
  /// Step of the best file; -1: there is none.
  std::int64_t best() const { return best_; }
  /// Called at the end of a run. If the newest file is unproven, logs the older one that is kept.
  void log_unproven() const;
  /// Called on rank 0 when the run resumes from `file` of step `step`. If `file` lies in the run's
  /// own directory, older ones are removed once a loss has proven it.
  void resumed(const std::string& file, std::int64_t step);
  /// Called after finish() when the run goes back to an earlier file and renames the later ones.
  void go_back();
  /// Waits for the file that start() began.
  void finish();
  /// Frees the memory kept from file to file. Called after finish(), before other code reads or
  /// writes files.
  void give_back_memory() { gather_ = {}; }

  const RunTokenizer& tokenizer() const { return tokenizer_; }
  /// Step of the newest file that this run wrote; -1: none.
  std::int64_t newest() const { return newest_; }
  /// Bytes of the snapshot; 0 without checkpoint.async.
  std::int64_t snapshot_bytes() const { return snapshot_ ? snapshot_->bytes() : 0; }

 private:
  CheckpointHeader header(const RunPosition& at, const std::string& loss_scale) const;
  CheckpointOptions options();
  void write_snapshot();
  void publish();
  void prepare_publishing() const;
  void published(std::int64_t step, const std::string& unsafe);
  void prune();
  void log_spared();
  void say(const std::function<void()>& message) const;
  std::string path(std::int64_t step) const;

  const PlacedConfig& config_;
  const std::string& job_;
  ProcessGrid& grid_;
  ParameterStore& store_;
  Optimizer& optimizer_;
  const RunTokenizer tokenizer_;
  const std::string base_;  // base_fingerprint of the adapters' base; empty: no adapters
  std::function<void()> pause_ = [] {}, before_publishing_ = [] {};
  Published after_publishing_ = [](std::int64_t, const std::string&, double) {};

  Stream copies_;                                 // stream of the copies into the snapshot
  std::unique_ptr<CheckpointSnapshot> snapshot_;  // null if checkpoint.async is off
  CheckpointHeader header_;                       // of the snapshot
  GatherMemory gather_;                           // used by one writer after another
  std::int64_t newest_ = -1;                      // newest()
  std::int64_t within_ = std::numeric_limits<std::int64_t>::max();  // judge()
  bool beyond_ = false;                                             // judge()
  std::int64_t best_ = -1, next_best_ = -1;  // keep_best(): the file that stays; its successor
  // Rank 0 only. File kept beside the newest checkpoint.keep, and the one last logged.
  std::string spared_, spared_logged_;
  // Rank 0 only. Step of the newest file while it is unproven and older ones are kept; -1: none.
  std::int64_t unproven_ = -1;
  int tries_left_ = 0;                           // retries left for the file under way
  std::chrono::steady_clock::time_point begun_;  // start of the write
  std::optional<CheckpointWriter> writer_;       // of the file under way
  std::optional<BackgroundWrite> background_;    // declared after writer_, which it uses
};

}  // namespace triax
