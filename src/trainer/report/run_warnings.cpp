// SPDX-License-Identifier: Apache-2.0
#include "src/trainer/report/run_warnings.hpp"

#include <fmt/format.h>

#include <utility>

#include "io/checkpoint/checkpoint_directory.hpp"
#include "src/recipe/lr_report.hpp"

namespace triax {

const char* key_name_of(DType type) {
  return type == DType::f32 ? "fp32" : type == DType::f16 ? "fp16" : "bf16";
}

std::vector<std::string> config_warnings(const PlacedConfig& config) {
  std::vector<std::string> lines;
  const int group = shard_size(config);
  if (config.zero.shard_by_hpz && group < config.parallel.data)
    lines.push_back(
        fmt::format("zero_optimization.zero_hpz_partition_size: everything that ZeRO-{} shards is "
                    "sharded over {} data ranks, in {} copies, as by mics_shard_size; ZeRO++ would "
                    "do so for the parameters only and shard the rest over all {}",
                    config.zero.stage, group, config.parallel.data / group, config.parallel.data));
  if (config.checkpoint.async == AsyncWrites::where_it_fits && !takes_copy(config))
    lines.emplace_back(
        "checkpoint.async: training waits while checkpoints are written, because a copy of the "
        "state does not fit into memory");
  const CheckpointConfig& files = config.checkpoint;
  if ((files.striping_factor > 0 || files.striping_unit > 0) && !takes_stripes(files.directory))
    lines.push_back(fmt::format(
        "checkpoint.striping_factor and striping_unit are not applied: MPI-IO reads the text "
        "before the colon in {} as the name of a file system. Set checkpoint.directory to a path "
        "without a colon, or set the stripes of that directory (lfs setstripe)",
        files.directory));
  if (config.batch.accumulation > 1 && config.precision.gradient_type != DType::f32)
    lines.push_back(
        fmt::format("gradients of {} micro-batches are summed in {}, which loses small values. Set "
                    "data_types.grad_accum_dtype to fp32 to sum them in float32, with 2 more bytes "
                    "per parameter",
                    config.batch.accumulation, key_name_of(config.precision.gradient_type)));
  const auto add_without_inputs = [&](bool asked, const char* key, const char* what) {
    if (asked && config.recompute.what != Recompute::layer)
      lines.push_back(fmt::format(
          "activation_checkpointing.{} has nothing to {}: no layer is recomputed from its input. "
          "Set activation_checkpointing.number_checkpoints to recompute layers",
          key, what));
  };
  add_without_inputs(config.recompute.partition_inputs, "partition_activations", "cut");
  add_without_inputs(config.recompute.inputs_on_host, "cpu_checkpointing", "move");
  if (config.zero.stage > 0 && group == 1 && config.parallel.data > 1)
    lines.push_back(
        fmt::format("ZeRO-{} shards nothing: the groups have one data rank (one per node, or "
                    "mics_shard_size 1), so each of the {} keeps all state. Place several data "
                    "ranks on a node, or leave out HYBRID_SHARD or mics_shard_size",
                    config.zero.stage, config.parallel.data));
  if (!config.data.valid.empty() && config.run.eval_interval == 0)
    lines.emplace_back(
        "data.valid is never read: run.eval_interval is 0. Set run.eval_interval to the steps from "
        "one validation to the next");
  if (config.run.time_limit > 0.0 && config.run.stop_before_end == 0.0)
    lines.emplace_back(
        "run.time_limit has no effect: run.stop_before_end is 0. Set run.stop_before_end to the "
        "time of one step and two checkpoints");
  if (config.run.loss_spike.action == SpikeAction::stop && config.checkpoint.interval == 0)
    lines.emplace_back(
        "run.loss_spike.action \"stop\" ends the run without a checkpoint: checkpoint.interval is "
        "0. Set checkpoint.interval to the number of steps that may be lost");
  for (std::string& line : rate_warnings(config)) lines.push_back(std::move(line));
  return lines;
}

std::string warning_of_bytes(const Config& config, const SampleReader& data) {
  constexpr int bytes = 256;
  if (config.model.vocabulary <= bytes || !data.has_bytes()) return {};
  return fmt::format(
      "training data are text, read as bytes, but the model has {} tokens: tokens from {} on never "
      "occur. Set model.vocab_size to {} for bytes, or use token files of another tokenizer "
      "(llm.c, Megatron, HDF5)",
      config.model.vocabulary, bytes, bytes);
}

std::string warning_of_cpu(const PlacedConfig& config, bool for_gpus) {
  if (!for_gpus || config.run.space || config.place.space == MemorySpace::device) return {};
  return "no rank finds a GPU, although this program was built for them: the run is on the CPU. "
         "Request GPUs from the scheduler (--gpus-per-node), or set run.device to cpu";
}

}  // namespace triax
