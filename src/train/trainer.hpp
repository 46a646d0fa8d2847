#pragma once
// A training run: everything a rank holds, and the loop.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/metrics_writer.hpp"
#include "src/config/load.hpp"
#include "src/train/checkpoint.hpp"
#include "src/train/evaluator.hpp"
#include "src/train/executor.hpp"
#include "src/train/job_plan.hpp"
#include "src/train/loss_scaler.hpp"
#include "src/train/progress.hpp"
#include "src/train/progress_texts.hpp"

namespace triax {

class Trainer {
 public:
  /// Collective. Takes all memory, and resumes, loads or makes the weights. `grid` outlives the
  /// trainer.
  Trainer(const LoadedJob& job, ProcessGrid& grid)
      : Trainer(job, grid, plan_job(on_grid(job, grid).config)) {}
  /// `plan`: of this job on this grid.
  Trainer(const LoadedJob& job, ProcessGrid& grid, JobPlan plan);
  Trainer(const Trainer&) = delete;  // its parts point at each other
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the last step; writes metrics, job.json and checkpoints.
  void run();

  /// One step, counted from 0. Everything but the seconds is the same on every rank.
  /// Where loss or gradient is not finite it changes nothing, and says which layer began it.
  StepMetrics train_step(std::int64_t step);
  std::int64_t first_step() const { return first_step_; }
  const Config& config() const { return config_; }
  /// This rank's plan of a step.
  const Plan& plan() const { return training_.plan(); }
  const ParameterStore& store() const { return store_; }
  const Optimizer& optimizer() const { return optimizer_; }
  /// What this rank holds, as its parts say it.
  Allocations allocations() const;

 private:
  std::size_t stage_index() const;
  void prepare_weights();
  void open_outputs(const std::vector<std::string>& hosts);
  void announce() const;
  void report_memory();
  StepInput step_input(std::int64_t step);
  void report_skipped(const StepMetrics& metrics, StepInput input);
  [[noreturn]] void stop_after_bad_steps(std::int64_t step);
  void share(StepMetrics& metrics, double loss_sum);
  void after_step(std::int64_t step, std::int64_t tokens);
  void save(std::int64_t steps_done, std::int64_t tokens);
  std::int64_t tokens_per_step() const;
  bool leader() const { return grid_.rank() == 0; }

  LoadedJob job_;
  const Config& config_;
  ProcessGrid& grid_;
  Stream stream_;  // of the compute
  JobPlan plan_;
  Stage stage_;
  BatchShape shape_;
  StageLayout layout_;
  TokenReader train_reader_;  // before the memory: a missing file is found early
  ParameterStore store_;
  Optimizer optimizer_;
  LossScaler loss_scaler_;
  LossScaler good_scaler_;  // as it was before the bad steps
  BufferPlan buffer_plan_;
  StepBuffers buffers_;
  PipelineMessages messages_;
  BatchLoader batch_;
  ProgressTexts texts_;
  Executor training_;
  std::optional<Evaluator> evaluator_;
  // Where the run stands.
  std::int64_t first_step_ = 0, first_sample_ = 0, first_token_ = 0;
  std::int64_t bad_steps_ = 0;  // in a row, until now
  std::string resumed_from_;
  std::vector<std::string> changes_;  // of the job since the checkpoint
  std::vector<std::string> unused_weights_;
  std::array<Traffic, all_axes.size()> traffic_{};  // sent by axis when the step began
  // Rank 0 only.
  std::optional<MetricsWriter> metrics_;
  std::optional<Progress> progress_;
};

}  // namespace triax
