// SPDX-License-Identifier: Apache-2.0
#pragma once
// State of one rank during a training run: its plan, its stage of the model, and all memory of a
// step.
#include <memory>
#include <optional>

#include "src/config/load/load.hpp"
#include "src/data/mixture/training_data.hpp"
#include "src/executor/batch_loader.hpp"
#include "src/executor/pipeline_messages.hpp"
#include "src/executor/step_buffers.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/forecast/memory_plan.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Built once, before the first step; nothing is allocated afterwards. On a device everything is
/// cut from `arena`.
struct RankState {
  /// Collective. `plan`: of this job on this grid; without one it is made here. `grid` outlives
  /// the object.
  RankState(const Config& job, ProcessGrid& grid, std::optional<JobPlan> plan);
  RankState(const RankState&) = delete;  // its members point at each other
  RankState& operator=(const RankState&) = delete;

  std::size_t stage_index() const { return static_cast<std::size_t>(grid.pipeline_rank()); }
  std::int64_t tokens_per_step() const { return config.batch.global * config.data.sample_length(); }
  /// Bytes by owner, as the owners count them. `snapshot_bytes`: of the copy that checkpoints are
  /// written from.
  Allocations allocations(std::int64_t snapshot_bytes) const;

  ProcessGrid& grid;
  JobPlan plan;
  const PlacedConfig& config;          // of the plan
  Stream stream;                       // runs the compute kernels
  std::unique_ptr<DeviceArena> arena;  // null on the host
  Stage stage;
  BatchShape shape;
  StageLayout layout;
  TrainingData train_data;  // before the tensors: a missing file is found early
  ParameterStore store;
  Optimizer optimizer;
  BufferPlan buffer_plan;
  StepBuffers buffers;
  PipelineMessages messages;
  BatchLoader batch;
};

/// Reader of training or validation files, which rank 0 checks against the vocabulary at both ends
/// where steps or evaluations `use` them: tokens of another tokenizer are refused at the start.
/// Collective.
TokenReader open_reader(const Config& config, const ProcessGrid& grid,
                        const std::vector<std::string>& files, bool shuffle, bool use);
/// The training data of the job, each source opened by open_reader. Collective.
TrainingData open_training_data(const Config& config, const ProcessGrid& grid);

}  // namespace triax
