#include "src/train/offload_place.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "kernels/random.hpp"

namespace triax {

OffloadPlace offload_place(const Config& config, const ProcessGrid& grid,
                           const std::string& directory, const char* what) {
  const std::string run = std::filesystem::absolute(config.run.directory).lexically_normal();
  return {
      fmt::format("{}/triax-{:016x}-rank-{}-{}.h5", directory, mix_key(0, run), grid.rank(), what),
      config.aio.block_size, config.aio.queue_depth, grid.mpi()};
}

StateBuffers state_buffers(const Config& config, const ProcessGrid& grid, const Peaks& peaks) {
  const OffloadOptimizerConfig& offload = config.zero.offload_optimizer;
  if (offload.device != OffloadDevice::nvme) return {};
  return {offload_place(config, grid, offload.nvme_path, "optimizer"), std::max(1, peaks.states)};
}

void announce_offload(const ZeroConfig& zero, const Optimizer& optimizer,
                      const ParameterStore& store) {
  const double mib = 1.0 / (1 << 20);
  const auto say = [&](const char* key, OffloadDevice device, const OffloadStore* kept) {
    if (device == OffloadDevice::cpu)
      spdlog::info("zero_optimization.{} to cpu: in a build for the CPU it is there already", key);
    if (kept != nullptr)
      spdlog::info("zero_optimization.{} to nvme: rank 0 keeps {:.1f} MiB of buffers and {}", key,
                   mib * static_cast<double>(kept->buffer_bytes()), kept->description());
  };
  say("offload_optimizer", zero.offload_optimizer.device, optimizer.offload());
  say("offload_param", zero.offload_param.device, store.offload());
}

}  // namespace triax
