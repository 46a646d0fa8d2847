// SPDX-License-Identifier: Apache-2.0
#include "src/machine/presets.hpp"

#include <span>

namespace triax {
namespace {

// Efficiencies are one set for all GPUs: benchmarks/results/plan says where they are off.
constexpr Efficiency gpu{.products = 0.73,
                         .half_side = 128.0,
                         .attention = 0.5,
                         .memory = 0.6,
                         .network = 0.9,
                         .overlap = 1.0,
                         .kernel_seconds = 4e-6};

Machine h100() {
  Machine m;
  m.name = "h100";
  m.bf16_flops = m.f16_flops = 989e12;
  m.f32_flops = 67e12;
  m.fp8_flops = 1979e12;
  m.memory = 80e9;
  m.memory_bandwidth = 3.35e12;
  m.host_memory = 2e12;
  m.host_bandwidth = 55e9;
  m.inside = {450e9, 3e-6};  // NVLink 4
  m.between = {50e9, 6e-6};  // a 400 Gb/s port per GPU
  m.nvme_bandwidth = 25e9;
  m.file_bandwidth = 100e9;
  m.watts = 1275.0;  // a DGX H100 takes 10.2 kW
  m.efficiency = gpu;
  return m;
}

Machine h200() {
  Machine m = h100();
  m.name = "h200";
  m.memory = 141e9;
  m.memory_bandwidth = 4.8e12;
  return m;
}

Machine a100() {
  Machine m = h100();
  m.name = "a100";
  m.bf16_flops = m.f16_flops = 312e12;
  m.f32_flops = 19.5e12;
  m.fp8_flops = 0.0;
  m.memory = 80e9;
  m.memory_bandwidth = 2.04e12;
  m.host_bandwidth = 25e9;
  m.inside = {300e9, 3e-6};  // NVLink 3
  m.between = {25e9, 6e-6};  // a 200 Gb/s port per GPU
  m.watts = 812.0;           // a DGX A100 takes 6.5 kW
  return m;
}

Machine v100() {
  Machine m = a100();
  m.name = "v100";
  m.bf16_flops = 0.0;
  m.f16_flops = 125e12;
  m.f32_flops = 15.7e12;
  m.memory = 32e9;
  m.memory_bandwidth = 0.9e12;
  m.host_memory = 1e12;
  m.host_bandwidth = 12e9;
  m.inside = {150e9, 4e-6};
  m.between = {6.25e9, 8e-6};  // two 100 Gb/s ports per four GPUs
  m.watts = 437.0;             // a DGX-1 takes 3.5 kW
  return m;
}

Machine cpu() {
  Machine m;
  m.name = "cpu";
  m.space = MemorySpace::host;
  // Two processors of 64 cores at 2.5 GHz: 16 cores a rank, 64 float32 FLOPs per cycle and core.
  m.f32_flops = 2.56e12;
  m.bf16_flops = 5.12e12;
  m.f16_flops = 2.56e12;
  m.memory = 64e9;
  m.memory_bandwidth = 75e9;
  m.host_memory = 512e9;
  m.inside = {10e9, 1e-6};
  m.between = {3e9, 3e-6};  // a 200 Gb/s port per node
  m.nvme_bandwidth = 6e9;
  m.file_bandwidth = 50e9;
  m.watts = 125.0;
  m.efficiency = {.products = 0.7,
                  .half_side = 32.0,
                  .attention = 0.35,
                  .memory = 0.8,
                  .network = 0.8,
                  .overlap = 0.0,
                  .kernel_seconds = 5e-6};
  return m;
}

struct Row {
  const char* name;
  Machine (*make)();
};
std::span<const Row> rows() {
  static constexpr Row all[] = {
      {"h100", h100}, {"h200", h200}, {"a100", a100}, {"v100", v100}, {"cpu", cpu}};
  return all;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Row& row : rows()) names.emplace_back(row.name);
  return names;
}

std::optional<Machine> preset(const std::string& name) {
  for (const Row& row : rows())
    if (name == row.name) return row.make();
  return std::nullopt;
}

}  // namespace triax
