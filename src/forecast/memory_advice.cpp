// SPDX-License-Identifier: Apache-2.0
#include "src/forecast/memory_advice.hpp"

#include <algorithm>
#include <utility>

#include "src/forecast/memory_plan.hpp"
#include "src/forecast/plan_size.hpp"
#include "src/schedule/plan.hpp"

namespace triax {
namespace {

struct Change {
  std::string setting;
  PlacedConfig config;
};

std::int64_t most_of_a_rank(const PlacedConfig& config) {
  const MemoryPlan plan(config, step_plans(config), 0);
  return plan.of(plan.fullest()).scarce().total();
}

// Whether the plan takes at most about a second to make.
bool is_short(const Config& config) {
  constexpr double instructions = 2'500'000;
  return planning_bytes(config) < instructions * sizeof(Op);
}

// Higher ZeRO stages and larger shard groups. Nothing for one data rank.
void add_zero(std::vector<Change>& changes, const PlacedConfig& config) {
  if (config.parallel.data == 1) return;
  for (int stage = config.zero.stage + 1; stage <= 3; ++stage) {
    PlacedConfig other = config;
    other.zero.stage = stage;
    changes.push_back({fmt::format("zero_optimization.stage {}", stage), other});
  }
  const int group = shard_size(config);
  if (config.zero.stage == 0 || group <= 0 || group >= config.parallel.data) return;
  PlacedConfig other = config;
  other.zero.shard_size = config.parallel.data;
  changes.push_back({"a larger zero_optimization.mics_shard_size", other});
}

void add_offload(std::vector<Change>& changes, const PlacedConfig& config) {
  const std::string section = "zero_optimization.offload_";
  const OffloadOptimizerConfig& optimizer = config.zero.offload_optimizer;
  const bool on_disk = optimizer.device == OffloadDevice::nvme;
  if (!on_disk || optimizer.ratio < 1.0) {
    PlacedConfig other = config;
    other.zero.offload_optimizer.device = OffloadDevice::nvme;
    other.zero.offload_optimizer.ratio = 1.0;
    changes.push_back({section + (on_disk ? "optimizer.ratio 1" : "optimizer.device nvme"), other});
  }
  const OffloadParamConfig& parameters = config.zero.offload_param;
  const std::string with_stage = config.zero.stage < 3 ? " and zero_optimization.stage 3" : "";
  PlacedConfig other = config;
  other.zero.stage = 3;
  other.zero.offload_param.device = OffloadDevice::nvme;
  other.zero.offload_param.max_in_cpu = 0;
  other.zero.offload_param.ratio = 1.0;
  if (parameters.device != OffloadDevice::nvme)
    changes.push_back({section + "param.device nvme with max_in_cpu 0" + with_stage, other});
  else if (parameters.max_in_cpu > 0)
    changes.push_back({"a smaller " + section + "param.max_in_cpu", other});
  else if (parameters.ratio < 1.0)
    changes.push_back({section + "param.ratio 1", other});
  other.zero.offload_param.device = OffloadDevice::cpu;
  if (config.place.space == MemorySpace::device && parameters.device == OffloadDevice::none)
    changes.push_back({section + "param.device cpu" + with_stage, other});
}

// Settings of recomputation that keep less of each layer for its backward pass.
void add_recompute(std::vector<Change>& changes, const PlacedConfig& config) {
  const RecomputeConfig& recompute = config.recompute;
  const std::string section = "activation_checkpointing.";
  PlacedConfig other = config;
  other.recompute.keep_outputs = false;
  if (recompute.keep_outputs) changes.push_back({section + "keep_outputs false", other});
  other = config;
  other.recompute.what = Recompute::layer;
  if (recompute.what == Recompute::none) {
    other.recompute.layers = 0;
    changes.push_back({section + "number_checkpoints, to recompute layers", other});
  } else if (recompute.what == Recompute::attention) {
    changes.push_back({section + "granularity full with number_checkpoints", other});
  } else if (recompute.layers > 0) {
    other.recompute.layers = 0;
    changes.push_back({"a larger " + section + "number_checkpoints", other});
  }
  other = config;
  other.recompute.inputs_on_host = true;
  if (recompute.what == Recompute::layer && config.place.space == MemorySpace::device &&
      !recompute.inputs_on_host)
    changes.push_back({section + "cpu_checkpointing true", other});
  if (config.parallel.tensor == 1 || config.parallel.sequence_parallel) return;
  other = config;
  other.recompute.partition_inputs = true;
  if (!recompute.partition_inputs)
    changes.push_back({section + "partition_activations true", other});
}

void add_types(std::vector<Change>& changes, const PlacedConfig& config) {
  PlacedConfig other = config;
  PrecisionConfig& precision = other.precision;
  if (precision.type == DType::f32) {
    precision.type = DType::bf16;
    if (config.zero.stage > 0) precision.gradient_type = DType::bf16;  // DeepSpeed's default
    changes.push_back({"bf16.enabled true", other});
  } else if (precision.gradient_type != precision.type) {
    precision.gradient_type = precision.type;
    changes.push_back({fmt::format("data_types.grad_accum_dtype {}",
                                   precision.type == DType::bf16 ? "bf16" : "fp16"),
                       other});
  }
}

// Smaller micro-batches of the same global batch, shorter sequences, and fewer copies and buffers.
void add_sizes(std::vector<Change>& changes, const PlacedConfig& config) {
  PlacedConfig other = config;
  for (std::int64_t parts = 2; parts <= config.batch.micro; ++parts)
    if (config.batch.micro % parts == 0) {
      other.batch.micro /= parts;
      other.batch.accumulation *= parts;
      changes.push_back(
          {fmt::format("train_micro_batch_size_per_gpu {} or less", other.batch.micro), other});
      break;
    }
  other = config;
  other.data.sequence_length /= 2;
  if (other.data.sequence_length >= config.parallel.tensor)
    changes.push_back({"a smaller data.seq_length", other});
  other = config;
  other.checkpoint.async = AsyncWrites::off;
  if (config.checkpoint.async != AsyncWrites::off)
    changes.push_back({"checkpoint.async false", other});
  other = config;
  other.zero.overlap = false;
  if (config.zero.overlap) changes.push_back({"zero_optimization.overlap_comm false", other});
}

// Keeps only the most effective ZeRO stage.
void drop_lesser_stages(std::vector<MemorySaving>& savings) {
  bool found = false;
  std::erase_if(savings, [&](const MemorySaving& saving) {
    return saving.setting.starts_with("zero_optimization.stage ") && std::exchange(found, true);
  });
}

}  // namespace

std::vector<MemorySaving> memory_savings(const PlacedConfig& config) {
  std::vector<Change> changes;
  for (const auto add : {add_zero, add_offload, add_recompute, add_types, add_sizes})
    add(changes, config);
  std::vector<MemorySaving> savings;
  if (!is_short(config)) return savings;
  const std::int64_t now = most_of_a_rank(config);
  for (const Change& change : changes) {
    if (!is_short(change.config)) continue;
    try {
      const std::int64_t bytes = now - most_of_a_rank(change.config);
      if (bytes >= now / 100) savings.push_back({change.setting, bytes});
    } catch (const Error&) {
      // The change is not valid for this job.
    }
  }
  std::stable_sort(savings.begin(), savings.end(),
                   [](const MemorySaving& a, const MemorySaving& b) { return a.bytes > b.bytes; });
  drop_lesser_stages(savings);
  return savings;
}

}  // namespace triax
