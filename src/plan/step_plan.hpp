#pragma once
// From a job to the verified plans of its training step, for all stages.
#include "src/model/stage.hpp"
#include "src/plan/placement.hpp"
#include "src/schedule/verify/verify.hpp"
#include "src/state/optimizer/optimizer.hpp"

namespace triax {

/// Where stage `stage` of a job stands, on tensor rank `tensor_rank`.
StagePlace stage_place(const ParallelConfig& parallel, int stage, int tensor_rank);

/// The layers of that place, with what each of them recomputes.
/// `arena`: that its tables are cut from; null: they have memory of their own.
Stage make_stage(const PlacedConfig& config, int stage, int tensor_rank,
                 StageUse use = StageUse::run, DeviceArena* arena = nullptr);

/// The shape of a job's micro-batches on a tensor rank.
BatchShape batch_shape(const PlacedConfig& config, const TensorShard& shard);

/// How parameters, gradients and optimizer state are cut on a data rank.
DataShard data_shard(const PlacedConfig& config, int data_rank);

/// How a data rank keeps parameters and gradients; the place of what is in a store is left empty.
StateOptions state_options(const PlacedConfig& config, int data_rank);

/// The parameter blocks of a stage as they are laid out on its tensor rank and a data rank, as
/// schedules and passes need them. A plan, which is for all of the stage's ranks, has one for all.
std::vector<BlockUse> block_uses(const Stage& stage, const DataShard& data);

/// Frame pools of a stage's layers by [chunk][layer]: layers with frames of equal size share one.
std::vector<std::vector<int>> frame_pools(const Stage& stage, const BatchShape& shape);

/// The shape that schedules and passes need: layers, blocks and frame pools of every stage.
PlanShape plan_shape(const PlacedConfig& config);

/// Verified plans of all stages, and what each stage has in use at once.
struct StepPlans {
  PlanShape shape;
  Plans training;
  Plans evaluation;          // empty without data.valid
  std::vector<Peaks> peaks;  // by stage: the larger of both
};
/// The buffers that a stage's plans ask of its ParameterStore.
WholeBuffers whole_buffers(const StepPlans& plans, std::size_t stage);
/// And of its Optimizer: parts of state in memory at once, where they are in a store, the place of
/// which is left empty.
StateBuffers state_buffers(const StepPlans& plans, std::size_t stage);

/// UsageError where the schedule cannot be built for the job.
StepPlans step_plans(const PlacedConfig& config);

}  // namespace triax
