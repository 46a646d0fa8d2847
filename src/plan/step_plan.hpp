// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a job to the verified plans of its training step, for all stages.
#include "src/model/stage/stage.hpp"
#include "src/plan/placement.hpp"
#include "src/schedule/verify/verify.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Coordinates of pipeline stage `stage` on tensor rank `tensor_rank`.
StagePlace stage_place(const ParallelConfig& parallel, int stage, int tensor_rank);

/// Layers of that stage, and what each of them recomputes. The tables of layers (rope) are cut from
/// `arena`; null: they have memory of their own.
Stage make_stage(const PlacedConfig& config, int stage, int tensor_rank,
                 StageUse use = StageUse::run, DeviceArena* arena = nullptr);

/// The shape of a job's micro-batches on a tensor rank.
BatchShape batch_shape(const PlacedConfig& config, const TensorShard& shard);

/// How parameters, gradients and optimizer state are cut on a data rank.
DataShard data_shard(const PlacedConfig& config, int data_rank);

/// How a data rank keeps parameters and gradients. The location of offloaded state is left empty.
StateOptions state_options(const PlacedConfig& config, int data_rank);

/// The parameter blocks of a stage as they are laid out on its tensor rank and a data rank, as
/// schedules and passes need them. A plan holds for all ranks of its stage, so it has one list.
std::vector<BlockUse> block_uses(const Stage& stage, const DataShard& data);

/// The shape that schedules and passes need: layers, blocks and frame pools of every stage.
PlanShape plan_shape(const PlacedConfig& config);

/// Verified plans of all stages, and the peak number of buffers that each stage uses at once.
struct StepPlans {
  PlanShape shape;
  Plans training;
  Plans evaluation;          // empty without runs_evaluations()
  std::vector<Peaks> peaks;  // by stage: the larger of training and evaluation
};
/// Buffers that the plans of a stage need from its ParameterStore.
WholeBuffers whole_buffers(const StepPlans& plans, std::size_t stage);
/// Buffers that they need from its Optimizer: sub-groups of offloaded state in memory at once.
/// Their location is left empty.
StateBuffers state_buffers(const StepPlans& plans, std::size_t stage);

/// Whether a run has validation data. Those of data.validation_fraction, which a run prepares
/// first, have run.eval_interval.
bool validates(const Config& config);

/// Whether a run has forward passes by the evaluation plan.
bool runs_evaluations(const Config& config);

/// UsageError where the schedule cannot be built for the job, or no tensor would be trained.
StepPlans step_plans(const PlacedConfig& config);

}  // namespace triax
