// SPDX-License-Identifier: Apache-2.0
#include "src/launch/offload_location.hpp"

#include <spdlog/spdlog.h>

#include <filesystem>

#include "kernels/base/mpi/agree.hpp"
#include "kernels/random/random.hpp"
#include "src/config/source/absolute_path.hpp"

namespace triax {
namespace {

// Prefix of the names of a run's offload files, unique per run.directory (links resolved).
std::string run_prefix(const Config& config) {
  std::error_code unreadable;  // then the name is used as it is
  const std::string named = absolute_path(config.run.directory);
  const std::string found = std::filesystem::weakly_canonical(named, unreadable);
  const std::string& run = unreadable ? named : found;
  return fmt::format("triax-{:016x}-rank-", mix_key(0, run));
}

constexpr const char* parameters = "parameters";
constexpr const char* optimizer_state = "optimizer";

std::string file_of(const ProcessGrid& grid, const Config& config, const std::string& directory,
                    const char* what) {
  return fmt::format("{}/{}{}-{}.h5", directory, run_prefix(config), grid.rank(), what);
}

OffloadLocation offload_location(const ProcessGrid& grid, const Config& config,
                                 const std::string& directory, const char* what) {
  return {file_of(grid, config, directory, what), config.aio.block_size, config.aio.queue_depth,
          grid};
}

}  // namespace

void remove_left_offload(const ProcessGrid& grid, const Config& config) {
  agreed(grid, [&] {
    if (grid.node_rank() != 0) return;
    const auto remove = [&](OffloadDevice device, const std::string& directory) {
      if (device != OffloadDevice::nvme) return;
      for (const std::string& path : remove_left_files(directory, run_prefix(config)))
        spdlog::warn("removed {}, left by a killed run", path);
    };
    remove(config.zero.offload_optimizer.device, config.zero.offload_optimizer.nvme_path);
    remove(config.zero.offload_param.device, config.zero.offload_param.nvme_path);
  });
}

void remove_own_offload(const ProcessGrid& grid, const Config& config) {
  const auto remove = [&](OffloadDevice device, const std::string& directory, const char* what) {
    std::error_code ignored;  // the next run in this run.directory removes it
    if (device == OffloadDevice::nvme)
      std::filesystem::remove(file_of(grid, config, directory, what), ignored);
  };
  const ZeroConfig& zero = config.zero;
  remove(zero.offload_optimizer.device, zero.offload_optimizer.nvme_path, optimizer_state);
  remove(zero.offload_param.device, zero.offload_param.nvme_path, parameters);
}

StateOptions parameters_on(const ProcessGrid& grid, const PlacedConfig& config) {
  StateOptions options = state_options(config, grid.data_rank());
  const OffloadParamConfig& offload = config.zero.offload_param;
  if (offload.device == OffloadDevice::nvme)
    options.location = offload_location(grid, config, offload.nvme_path, parameters);
  return options;
}

StateBuffers optimizer_on(const ProcessGrid& grid, const Config& config, const StepPlans& plans) {
  const OffloadOptimizerConfig& offload = config.zero.offload_optimizer;
  StateBuffers buffers = state_buffers(plans, static_cast<std::size_t>(grid.pipeline_rank()));
  if (offload.device == OffloadDevice::nvme)
    buffers.location = offload_location(grid, config, offload.nvme_path, optimizer_state);
  return buffers;
}

void log_offload(const PlacedConfig& config, const Optimizer& optimizer,
                 const ParameterStore& store) {
  const bool on_cpu = config.place.space == MemorySpace::host;
  const ZeroConfig& zero = config.zero;
  const double mib = 1.0 / (1 << 20);
  const auto say = [&](const char* key, OffloadDevice device, const OffloadStore* kept) {
    if (device == OffloadDevice::cpu && on_cpu)
      spdlog::info(
          "zero_optimization.{}.device cpu has no effect: a run on the CPU keeps this state in "
          "host memory anyway",
          key);
    if (kept != nullptr)
      spdlog::info("zero_optimization.{} to nvme: rank 0 keeps {:.1f} MiB of buffers and {}", key,
                   mib * static_cast<double>(kept->bytes().buffers), kept->description());
  };
  if (config.recompute.inputs_on_host && config.recompute.what == Recompute::layer && on_cpu)
    spdlog::info(
        "activation_checkpointing.cpu_checkpointing has no effect: a run on the CPU keeps the "
        "inputs of recomputed layers in host memory anyway");
  say("offload_optimizer", zero.offload_optimizer.device, optimizer.offload());
  say("offload_param", zero.offload_param.device, store.offload());
}

}  // namespace triax
