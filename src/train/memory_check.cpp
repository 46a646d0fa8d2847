#include "src/train/memory_check.hpp"

#include <unistd.h>

#include <algorithm>

#include "io/agree.hpp"
#include "src/model/stage.hpp"
#include "src/schedule/plan.hpp"

namespace triax {
namespace {

constexpr double element = sizeof(float);
constexpr double gib = 1024.0 * 1024.0 * 1024.0;

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

}  // namespace

double node_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

double count_parameters(const ModelConfig& model) {
  const double one = count_with_blocks(model, 1);
  return one + (count_with_blocks(model, 2) - one) * (model.layers - 1);
}

double least_bytes_of_rank(const Config& config) {
  const ParallelConfig& parallel = config.parallel;
  const double parts = static_cast<double>(parallel.tensor) * parallel.pipeline;
  const auto share = [&](int stage) { return config.zero.stage >= stage ? parallel.data : 1.0; };
  const auto weight = static_cast<double>(size_of(config.precision.type));
  const auto gradient = static_cast<double>(size_of(config.precision.gradient_type));
  const double stepped = config.precision.type == DType::f32 ? 2 * element : 3 * element;
  // What lies on a disk takes no memory but its buffers.
  const auto& to_disk = config.zero.offload_optimizer;
  const double kept = to_disk.device == OffloadDevice::nvme ? 1.0 - to_disk.ratio : 1.0;
  const auto& param = config.zero.offload_param;
  const double count = count_parameters(config.model) / parts;
  double shard = count / share(3);
  if (param.device == OffloadDevice::nvme)
    shard = std::min(shard, static_cast<double>(param.max_in_cpu));
  const double state = weight * shard + (gradient / share(2) + kept * stepped / share(1)) * count;
  const double rows = static_cast<double>(config.batch.micro) * config.data.sequence_length;
  const double width = std::max(config.model.hidden, config.model.intermediate);
  return state + weight * rows * width / parallel.tensor;
}

double plan_bytes(const Config& config) {
  return 2.0 * config.model.layers * static_cast<double>(config.batch.accumulation) * sizeof(Op);
}

void check_memory(const Config& config, double bytes) {
  check_plan_size(config, bytes);
  const double needed = least_bytes_of_rank(config);
  if (needed <= bytes) return;
  throw UsageError(
      fmt::format("the job does not fit this machine's memory: a rank needs at least {:.4g} GiB "
                  "and has {:.4g} GiB",
                  needed / gib, bytes / gib),
      fmt::format("{:.4g} parameters over tensor {} x pipeline {}, with gradients and moments in "
                  "float32; micro-batches of {} x {} tokens",
                  count_parameters(config.model), config.parallel.tensor, config.parallel.pipeline,
                  config.batch.micro, config.data.sequence_length),
      "Check the model's sizes, train_micro_batch_size_per_gpu and data.seq_length, or use more "
      "nodes with a larger parallel.tensor or parallel.pipeline");
}

void check_memory(const Config& config, const ProcessGrid& grid) {
  try {
    agreed(grid.mpi(), [&] { check_memory(config, node_memory() / grid.node_size()); });
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

void check_plan_size(const Config& config, double bytes) {
  const double needed = plan_bytes(config);
  if (needed <= bytes) return;
  throw UsageError(
      fmt::format("a step has too many instructions: {:.4g} GiB of them, and there are {:.4g} GiB",
                  needed / gib, bytes / gib),
      fmt::format("{} layers x {} micro-batches, forward and backward", config.model.layers,
                  config.batch.accumulation),
      "Lower gradient_accumulation_steps or train_batch_size");
}

}  // namespace triax
