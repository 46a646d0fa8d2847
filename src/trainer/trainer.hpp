// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training run: the loop over steps, and what is decided between them. RankState holds what a
// rank has, StepRunner makes a step.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "src/checkpoint/run_checkpoints.hpp"
#include "src/config/load/load.hpp"
#include "src/config/outputs.hpp"
#include "src/executor/evaluator.hpp"
#include "src/launch/run_requests.hpp"
#include "src/recipe/best_loss.hpp"
#include "src/recipe/loss_spike.hpp"
#include "src/trainer/bad_steps.hpp"
#include "src/trainer/rank_state.hpp"
#include "src/trainer/reference.hpp"
#include "src/trainer/report/progress_texts.hpp"
#include "src/trainer/report/run_record.hpp"
#include "src/trainer/report/run_report.hpp"
#include "src/trainer/step_runner.hpp"

namespace triax {

enum class RunEnd : std::uint8_t {
  done,
  early,    // validation no longer improves (run.early_stopping)
  stopped,  // by a signal or the clock, with a checkpoint written: to be run again
};

class Trainer {
 public:
  using Clock = std::chrono::steady_clock;

  /// Collective. Takes all memory, and resumes, loads or initializes the weights. `grid` outlives
  /// the trainer. `plan`: of this job on this grid; without one it is made here. `tokenizer` is
  /// stored in checkpoints and the export.
  Trainer(const LoadedJob& job, ProcessGrid& grid, std::optional<JobPlan> plan = std::nullopt,
          RunTokenizer tokenizer = {});
  Trainer(const Trainer&) = delete;  // its parts point at each other
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the last step, or until asked to stop; writes metrics, job.json and checkpoints.
  /// run.time_limit counts from `started`. UsageError, on all ranks, where that leaves no time for
  /// a step.
  RunEnd run(RunRequests::Clock::time_point started = RunRequests::Clock::now());
  /// Whether run() has steps left to make.
  bool has_steps() const { return start_.step < config_.run.steps; }

  /// Makes step `step`, counted from 0. All metrics but the seconds are the same on every rank. If
  /// loss or gradient is not finite, the step changes nothing, and a warning names the first layer
  /// with such values.
  StepMetrics train_step(std::int64_t step);
  /// Collective, before or between steps: ProcessGrid::choose_messages in the memory of the steps.
  void choose_messages() { grid_.choose_messages(rank_.buffers.idle_memory()); }
  std::int64_t first_step() const { return start_.step; }
  const PlacedConfig& config() const { return config_; }
  /// This rank's plan of a step.
  const Plan& plan() const { return steps_.plan(); }
  const ParameterStore& store() const { return rank_.store; }
  /// The stream that runs the compute kernels.
  const Stream& stream() const { return rank_.stream; }
  const Optimizer& optimizer() const { return rank_.optimizer; }
  /// Bytes that this rank holds, by owner.
  Allocations allocations() const { return rank_.allocations(checkpoints_.snapshot_bytes()); }

 private:
  void prepare_weights();
  void load_start();
  bool prepare_reference();
  std::vector<std::string> restore(const CheckpointReader& reader);
  void open_outputs(const std::vector<std::string>& hosts, RunRequests::Clock::time_point started);
  using RunningStep = StepRunner::RunningStep;
  RunningStep start_step(std::int64_t step);
  std::int64_t make_step(std::int64_t step, RunEnd& end);
  void exchange_step_summary(RunningStep& running);
  void name_straggler(std::int64_t step);
  /// Collective. Logs and records the rank that the others wait for, if one stands out.
  void report_straggler(std::int64_t steps_done, double seconds);
  void record_trace();
  StepMetrics finish_step(RunningStep& running);
  void write_line(const StepMetrics& metrics);
  void record(const StepMetrics& metrics);
  std::string spike_text(const StepMetrics& metrics) const;
  void heed_loss(const StepMetrics& metrics);
  bool goes_back(const StepMetrics& metrics) const;
  std::string checkpoint_within(std::int64_t steps);
  std::string sound_checkpoint() { return checkpoint_within(losses_.within()); }
  std::string unsound_text(const StepMetrics& metrics);
  [[noreturn]] void stop_at_spike(const StepMetrics& metrics);
  std::int64_t roll_back(const StepMetrics& metrics);
  RunEnd stop_behind_rollback();
  Error too_many_rollbacks(const StepMetrics& metrics) const;
  void record_rollback(const RollbackMetrics& rollback);
  void set_aside_after(std::int64_t step) const;
  /// Work due after a step, once it is finished.
  struct Due {
    bool evaluation = false, last = false;
    bool stop = false;                     // requested, and work is left
    bool asked = false, interval = false;  // checkpoints; asked: by a signal or the clock
    bool any() const { return evaluation || last || stop || asked || interval; }
  };
  Due due_after(std::int64_t step) const;
  RunEnd after_step(std::int64_t step, const Due& due);
  void check_end(std::int64_t steps_done);
  /// save_*: return why there is no checkpoint to resume from; empty if there is one.
  std::string save_asked(std::int64_t steps_done, bool wait);
  std::string save_or_continue(std::int64_t steps_done, bool wait);
  std::string save(std::int64_t steps_done, bool wait);
  RunRequest evaluate(std::int64_t steps_done, bool may_stop);
  std::string save_behind(std::int64_t steps_done);
  RunRequest look(double ahead);
  void restore_best(const CheckpointHeader& header);
  void heed_validation(std::int64_t steps_done, double loss);
  RunEnd end_early(std::int64_t steps_done);
  void log_best() const;
  RunEnd evaluate_if_missing();
  RunEnd end_again(RunRequests::Clock::time_point started);
  void report_stop(std::int64_t steps_done, RunRequest request, const std::string& unsaved);
  bool evaluation_ends(std::int64_t steps_done) const;
  bool leader_says(bool what) const;
  void name_step_without_labels(const StepMetrics& metrics);
  void update_loss_scale(const StepMetrics& metrics);
  RunPosition position(std::int64_t steps_done) const;
  void report_skipped(const StepMetrics& metrics, const RunningStep& running);
  [[noreturn]] void stop_after_bad_steps(std::int64_t steps_done);
  std::string save_at_failure(std::int64_t steps_done);
  std::string leave_ruined(std::int64_t step);
  std::string after_ruined(const std::string& file, bool sound) const;
  void export_weights(const std::string& checkpoint);  // empty: from memory
  bool leader() const { return grid_.rank() == 0; }

  RunRequests requests_;  // first: signals wait while the rest is made
  LoadedJob job_;
  ProcessGrid& grid_;
  RankState rank_;
  const PlacedConfig& config_;  // of rank_
  const OutputConfig outputs_;
  StepRunner steps_;
  RunCheckpoints checkpoints_;
  BadSteps bad_steps_;
  LossSpikes losses_;
  EndingConfig ending_;
  BestLoss best_;
  ProgressTexts texts_;
  std::optional<Evaluator> evaluator_;
  std::optional<Reference> reference_;  // of a loss that compares with it
  RunStart start_;
  StepSummary step_summary_;                 // of all ranks, since the step before
  LossVerdict verdict_ = LossVerdict::none;  // of the step that was finished last
  std::optional<RunningStep> pending_;       // run(): the step whose numbers are not known yet
  double evaluation_seconds_ = 0.0;          // of the last evaluation
  bool straggler_named_ = false;
  bool without_labels_named_ = false;
  bool own_checkpoints_ = true;  // run(): owns_checkpoints()
  // Rank 0 only.
  std::optional<RunRecord> record_;
};

}  // namespace triax
