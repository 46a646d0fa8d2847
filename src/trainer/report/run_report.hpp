// SPDX-License-Identifier: Apache-2.0
#pragma once
// Log lines of a run: its summary at the start; its memory and messages at the end.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/load/load.hpp"
#include "src/data/mixture/training_data.hpp"
#include "src/forecast/job_plan.hpp"
#include "src/model/stage/trained_parameters.hpp"
#include "src/state/optimizer/optimizer.hpp"
#include "src/state/weights/huggingface_weights.hpp"

namespace triax {

/// Start of a run: the beginning of training, or the state of a checkpoint.
struct RunStart {
  std::int64_t step = 0, sample = 0, token = 0;
  std::string resumed_from;          // path of the checkpoint; empty: none
  bool fresh_optimizer = false;      // the checkpoint holds weights only
  std::vector<std::string> changes;  // of the job since the checkpoint
  bool other_losses = false;         // computes_other_losses()
  WeightNames weights;               // in the files of model.weights
};

/// Facts that log_run_summary() logs.
struct RunFacts {
  const LoadedJob& job;
  const ProcessGrid& grid;
  const JobPlan& plan;
  const RunStart& start;
  const TrainingData& data;
  std::int64_t validation_samples;  // read by one validation
  const Optimizer& optimizer;
  const ParameterStore& store;
};

/// "ZeRO-2: state is sharded over 4 data rank(s), in 2 group(s); offload_optimizer nvme,
/// offload_param none": the stage in effect, the data ranks of a shard group and the groups.
std::string sharding_text(const PlacedConfig& config);

/// "bf16: parameters and activations; gradients are kept, and summed between ranks, in fp32,
/// optimizer state is fp32".
std::string precision_text(const PrecisionConfig& precision);

/// "1.20M of 124.44M parameters trained; frozen: model.embed_tokens"; empty if all are trained.
std::string trained_text(const Trainability& model, const TrainedParameters& count);

/// "loss dpo: ...; beta 0.1; a sample is a pair, 2 x 512 tokens"; empty for the next token's loss.
std::string loss_text(const Config& config);

/// "validation: 640 samples = 10 global batches, each 50 steps and at the end", and the key that
/// limits it; empty without validation.
std::string validation_text(const Config& config, std::int64_t samples);

/// Logs the summary at the start of a run. Rank 0 only.
void log_run_summary(const RunFacts& run);

/// Logs that all steps of the run are done already. `resume`: checkpoint.resume of the job file,
/// which a requeued batch job does not follow.
void report_nothing_to_do(const Config& config, const RunStart& start, const std::string& resume);

}  // namespace triax
