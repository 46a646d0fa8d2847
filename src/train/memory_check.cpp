#include "src/train/memory_check.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "io/agree.hpp"
#include "src/model/stage.hpp"
#include "src/schedule/plan.hpp"

namespace triax {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double countable = 4e18;  // bytes that an int64 holds

double count_with_blocks(ModelConfig model, int blocks) {
  model.layers = blocks;
  double count = 0.0;
  for (const GlobalTensor& tensor : global_tensors(model)) {
    double elements = 1.0;
    for (int d = 0; d < tensor.shape.rank(); ++d)
      elements *= static_cast<double>(tensor.shape[d]);  // may not fit an int64
    count += elements;
  }
  return count;
}

// More than any rank will be planned to hold, as a number that may not fit an int64: parameters
// with gradients and moments in float32, and generous frames of all layers for all micro-batches.
double most_bytes(const Config& config) {
  const double rows = static_cast<double>(config.batch.micro) * config.data.sequence_length;
  const double width = std::max(config.model.hidden, config.model.intermediate);
  constexpr double widths_of_a_frame = 64.0;
  const double frames =
      widths_of_a_frame * config.model.layers * static_cast<double>(config.batch.accumulation);
  return sizeof(float) * (4.0 * count_parameters(config.model) + rows * width * frames);
}

// Of what a plan is made from: its instructions, forward and backward, and rotary positions.
double planning_bytes(const Config& config) {
  const double instructions =
      2.0 * config.model.layers * static_cast<double>(config.batch.accumulation);
  const double positions =
      config.model.architecture == Architecture::gpt2
          ? 0.0
          : static_cast<double>(config.model.head_size) * config.data.sequence_length;
  return instructions * sizeof(Op) + positions * sizeof(float);
}

// Kinds of a rank's memory from the largest down, as far as they matter.
std::vector<MemoryKind> largest_kinds(const KindBytes& bytes) {
  std::vector<MemoryKind> kinds(memory_kinds.begin(), memory_kinds.end());
  std::stable_sort(kinds.begin(), kinds.end(), [&](const MemoryKind& a, const MemoryKind& b) {
    return bytes.*a.bytes > bytes.*b.bytes;
  });
  constexpr std::size_t shown = 3;
  kinds.resize(shown);
  std::erase_if(kinds, [&](const MemoryKind& kind) { return bytes.*kind.bytes == 0; });
  return kinds;
}

using Texts = std::vector<std::string>;

// What cuts a kind of state over the data ranks.
std::string zero_setting(const Config& config, int stage) {
  const std::string setting = fmt::format("zero_optimization.stage {}", stage);
  if (config.parallel.data == 1) return setting + " with parallel.data above 1";
  if (config.zero.stage < stage) return setting;
  const bool groups = config.zero.shard_size > 0 && config.zero.shard_size < config.parallel.data;
  return groups ? "a larger zero_optimization.mics_shard_size" : "a larger parallel.data";
}

// What takes more of the parameters out of memory.
Texts parameter_offload(const Config& config) {
  const OffloadParamConfig& offload = config.zero.offload_param;
  const std::string section = "zero_optimization.offload_param.";
  if (offload.device != OffloadDevice::nvme)
    return {section + "device nvme with max_in_cpu 0" +
            (config.zero.stage < 3 ? " and zero_optimization.stage 3" : "")};
  if (offload.max_in_cpu > 0) return {"a smaller " + section + "max_in_cpu"};
  return {};
}

Texts optimizer_offload(const Config& config) {
  const OffloadOptimizerConfig& offload = config.zero.offload_optimizer;
  const std::string section = "zero_optimization.offload_optimizer.";
  if (offload.device != OffloadDevice::nvme) return {section + "device nvme"};
  if (offload.ratio < 1.0) return {section + "ratio 1"};
  return {};
}

// What keeps less of each layer for its backward pass.
Texts more_recompute(const Config& config) {
  const RecomputeConfig& recompute = config.recompute;
  const std::string section = "activation_checkpointing.";
  if (recompute.what == Recompute::none)
    return {section + "number_checkpoints, to recompute layers"};
  if (recompute.what == Recompute::attention) return {section + "granularity full"};
  if (recompute.layers > 0 && recompute.layers * config.parallel.pipeline < config.model.layers)
    return {"a larger " + section + "number_checkpoints"};
  return {};
}

Texts gradient_type(const Config& config) {
  const PrecisionConfig& precision = config.precision;
  if (precision.gradient_type == precision.type) return {};
  return {fmt::format("data_types.grad_accum_dtype {}",
                      precision.type == DType::bf16 ? "bf16" : "fp16")};
}

Texts step_sizes(const Config& config) {
  Texts settings;
  if (config.batch.micro > 1) settings.push_back("a smaller train_micro_batch_size_per_gpu");
  settings.push_back("a smaller data.seq_length");
  return settings;
}

Texts settings_for(const Config& config, std::string_view kind) {
  Texts settings;
  const auto add = [&](const Texts& more) {
    settings.insert(settings.end(), more.begin(), more.end());
  };
  const Texts smaller_parts = {"a larger parallel.tensor or parallel.pipeline"};
  if (kind == "parameters") {
    add({zero_setting(config, 3)});
    add(parameter_offload(config));
    add(smaller_parts);
  } else if (kind == "gradients") {
    add({zero_setting(config, 2)});
    add(gradient_type(config));
    add(smaller_parts);
  } else if (kind == "optimizer" || kind == "master") {
    add({zero_setting(config, 1)});
    add(optimizer_offload(config));
    add(smaller_parts);
  } else if (kind == "gathered" || kind == "communication") {
    if (config.zero.overlap) add({"zero_optimization.overlap_comm false"});
    add(smaller_parts);
  } else {
    add(step_sizes(config));
    if (kind == "activations") add(more_recompute(config));
  }
  return settings;
}

std::string settings_that_shrink(const Config& config, const std::vector<MemoryKind>& kinds) {
  std::vector<std::string> settings;
  for (const MemoryKind& kind : kinds)
    for (const std::string& setting : settings_for(config, kind.name))
      if (std::find(settings.begin(), settings.end(), setting) == settings.end())
        settings.push_back(setting);
  return fmt::format("Settings that shrink them: {}. Or use more memory or machines",
                     fmt::join(settings, "; "));
}

}  // namespace

double count_parameters(const ModelConfig& model) {
  const double one = count_with_blocks(model, 1);
  return one + (count_with_blocks(model, 2) - one) * (model.layers - 1);
}

void check_plannable(const Config& config, double bytes) {
  if (const double needed = planning_bytes(config); needed > bytes)
    throw UsageError(
        fmt::format("the plan of a step does not fit: {:.4g} GiB, and there are {:.4g} GiB",
                    needed / gib, bytes / gib),
        fmt::format("instructions of {} layers x {} micro-batches, forward and backward, {} "
                    "positions",
                    config.model.layers, config.batch.accumulation, config.data.sequence_length),
        "Lower gradient_accumulation_steps, train_batch_size or data.seq_length");
  if (const double needed = most_bytes(config); needed > countable)
    throw UsageError(
        fmt::format("the job does not fit any machine's memory: about {:.4g} GiB", needed / gib),
        fmt::format("{:.4g} parameters; micro-batches of {} x {} tokens",
                    count_parameters(config.model), config.batch.micro,
                    config.data.sequence_length),
        "Check the model's sizes, train_micro_batch_size_per_gpu and data.seq_length");
}

void check_fits(const Config& config, const MemoryPlan& plan, const std::vector<int>& ranks,
                const MemoryLimit& limit) {
  double needed = 0.0;
  int fullest = ranks.front();
  for (const int rank : ranks) {
    needed += static_cast<double>(plan.of(rank).resident());
    if (plan.of(rank).resident() > plan.of(fullest).resident()) fullest = rank;
  }
  if (needed <= limit.bytes) return;
  const KindBytes most = plan.of(fullest).in_memory();
  const std::vector<MemoryKind> kinds = largest_kinds(most);
  std::vector<std::string> sizes;
  for (const MemoryKind& kind : kinds)
    sizes.push_back(
        fmt::format("{} {:.4g} GiB", kind.name, static_cast<double>(most.*kind.bytes) / gib));
  throw UsageError(
      fmt::format("the job does not fit {}: {} rank(s) there need {:.4g} GiB and it has {:.4g} GiB",
                  limit.what, ranks.size(), needed / gib, limit.bytes / gib),
      fmt::format("rank {} needs {:.4g} GiB, of that {}", fullest,
                  static_cast<double>(plan.of(fullest).resident()) / gib, fmt::join(sizes, ", ")),
      settings_that_shrink(config, kinds));
}

void check_fits(const Config& config, const MemoryPlan& plan, const ProcessGrid& grid) {
  try {
    agreed(grid, [&] {
      check_fits(config, plan, grid.ranks_of_node(), node_limit());
      check_fits(config, plan, {grid.rank()}, process_limit());
    });
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

}  // namespace triax
