// SPDX-License-Identifier: Apache-2.0
#pragma once
// The checkpoints that a run writes, and how many of them stay.
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "io/checkpoint/checkpoint_background.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "src/checkpoint/checkpoint.hpp"
#include "src/plan/placement.hpp"

namespace triax {

/// Where a run stands in its data when a checkpoint is written.
struct RunPosition {
  std::int64_t step = 0, tokens = 0;  // done
  std::int64_t samples = 0;           // used or passed over: the next step begins there
  std::int64_t data_tokens = 0;       // of all training data
  std::string losses = {};            // LossSpikes::state()
};

/// Writes the file of a step, then removes older ones beyond checkpoint.keep, but never the newest
/// one whose loss was within reason. Rank 0 says so. With checkpoint.async training goes on while
/// the state is copied, up to the optimizer's next update, and while the file is written, from that
/// copy; what fails is tried once more from it. All functions but writing() are collective.
class RunCheckpoints {
 public:
  /// `job`: CheckpointHeader::job. All outlive the object, which makes the optimizer wait where an
  /// update would change what is not copied yet.
  RunCheckpoints(const PlacedConfig& config, const std::string& job, ProcessGrid& grid,
                 ParameterStore& store, Optimizer& optimizer);
  /// Called before something is said.
  void before_messages(std::function<void()> pause) { pause_ = std::move(pause); }
  /// Called on rank 0 before a file gets its name: what is to be on the disk by then.
  void before_publishing(std::function<void()> action) { before_publishing_ = std::move(action); }

  /// Returns when the file is there; what fails is tried once more. `loss_scale`:
  /// LossScaler::state(). Error, on all ranks alike, where it was not written; earlier files are
  /// untouched then.
  void save(const Stream& stream, const RunPosition& at, const std::string& loss_scale);
  /// The same, but where checkpoint.async is on it returns at once. One that is still being written
  /// is waited for first.
  void start(const Stream& stream, const RunPosition& at, const std::string& loss_scale);
  /// True while this rank writes a file in the background.
  bool writing() const { return background_ && !background_->done(); }
  /// After each step: gives the file its name once `any_rank` no longer writes.
  void proceed(bool any_rank);
  /// After each step, on every rank alike. A file of more than `within` steps (LossSpikes::within)
  /// has led to no loss within reason yet, and removes no older one that has. Where the last loss
  /// was `beyond` reason, a line names the file that stays for that.
  void judge(std::int64_t within, bool beyond);
  /// At the end of a run: where the newest file has led to no loss yet, a line names the older one
  /// that stays for that.
  void tell_unproven() const;
  /// On rank 0: the run goes on from `file`, of `step` steps. Where that lies in its directory,
  /// older ones are removed once a loss has shown that it is sound.
  void resumed(const std::string& file, std::int64_t step);
  /// After finish(): the run goes back to an earlier file, and its later ones are set aside.
  void go_back();
  /// Waits for what start() began.
  void finish();
  /// After finish(), and before others write or read: gives back what is kept from file to file.
  void give_back_memory() { gather_ = {}; }

  /// The steps of the newest file that this run wrote; -1: none.
  std::int64_t newest() const { return newest_; }
  /// Bytes of the copy of the state.
  std::int64_t snapshot_bytes() const { return snapshot_ ? snapshot_->bytes() : 0; }

 private:
  CheckpointHeader header(const RunPosition& at, const std::string& loss_scale) const;
  CheckpointOptions options();
  void write_snapshot();
  void publish();
  void prepare_publishing() const;
  void published(std::int64_t step, const std::string& unsafe);
  void prune();
  void tell_spared();
  void say(const std::function<void()>& message) const;
  std::string path(std::int64_t step) const;

  const PlacedConfig& config_;
  const std::string& job_;
  ProcessGrid& grid_;
  ParameterStore& store_;
  Optimizer& optimizer_;
  std::function<void()> pause_ = [] {}, before_publishing_ = [] {};

  Stream copies_;                                 // into the snapshot
  std::unique_ptr<CheckpointSnapshot> snapshot_;  // none: checkpoint.async is off
  CheckpointHeader header_;                       // of the snapshot
  GatherMemory gather_;                           // of the writers, one after another
  std::int64_t newest_ = -1;                      // newest()
  std::int64_t within_ = std::numeric_limits<std::int64_t>::max();  // judge()
  bool beyond_ = false;                                             // likewise
  // Rank 0 only. The file that stays beside the newest checkpoint.keep, and the one that was said.
  std::string spared_, spared_told_;
  // Rank 0 only. Steps of the newest file while older ones wait for a loss that shows it is sound.
  std::int64_t unproven_ = -1;
  int tries_left_ = 0;                           // where writing it fails
  std::chrono::steady_clock::time_point begun_;  // the file that is written
  std::optional<CheckpointWriter> writer_;       // of a file that is under way
  std::optional<BackgroundWrite> background_;    // after the writer: it uses it
};

}  // namespace triax
