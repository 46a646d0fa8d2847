#pragma once
// The checkpoints that a run writes, and how many of them stay.
#include "src/config/load.hpp"
#include "src/train/checkpoint.hpp"

namespace triax {

/// Where a run stands in its data when a checkpoint is written.
struct RunPosition {
  std::int64_t step = 0, tokens = 0, samples = 0;  // done
};

class RunCheckpoints {
 public:
  /// All outlive the object.
  RunCheckpoints(const LoadedJob& job, ProcessGrid& grid, ParameterStore& store,
                 Optimizer& optimizer)
      : job_(job), config_(job.config), grid_(grid), store_(store), optimizer_(optimizer) {}

  /// Collective. Writes the file of `at.step`, then removes older ones beyond checkpoint.keep.
  /// `loss_scale`: LossScaler::state(). Returns the file's path. Error, on all ranks alike, where
  /// it was not written; earlier files are untouched then.
  std::string save(const Stream& stream, const RunPosition& at, const std::string& loss_scale);

 private:
  CheckpointHeader header(const RunPosition& at, const std::string& loss_scale) const;

  const LoadedJob& job_;
  const Config& config_;
  ProcessGrid& grid_;
  ParameterStore& store_;
  Optimizer& optimizer_;
};

}  // namespace triax
