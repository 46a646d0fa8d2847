// SPDX-License-Identifier: Apache-2.0
#include "src/machine/figures.hpp"

namespace triax {

std::span<const MachineKey> machine_keys() {
  using M = Machine;
  static const MachineKey keys[] = {
      {"flops.bf16", "FLOP/s", 1e8, 1e17, true, [](M& m) -> double& { return m.bf16_flops; },
       "peak of dense bf16 products"},
      {"flops.f16", "FLOP/s", 1e8, 1e17, true, [](M& m) -> double& { return m.f16_flops; },
       "peak of dense fp16 products"},
      {"flops.f32", "FLOP/s", 1e8, 1e16, true, [](M& m) -> double& { return m.f32_flops; },
       "peak of dense float32 products"},
      {"flops.fp8", "FLOP/s", 1e8, 1e17, true, [](M& m) -> double& { return m.fp8_flops; },
       "peak of dense fp8 products"},
      {"memory.bytes", "bytes", 1e6, 1e14, false, [](M& m) -> double& { return m.memory; },
       "memory of a GPU, or a rank's share of the node's"},
      {"memory.bandwidth", "bytes/s", 1e8, 1e15, false,
       [](M& m) -> double& { return m.memory_bandwidth; }, "its bandwidth"},
      {"host.bytes", "bytes", 1e8, 1e15, true, [](M& m) -> double& { return m.host_memory; },
       "host memory of a node"},
      {"host.bandwidth", "bytes/s", 1e7, 1e13, true,
       [](M& m) -> double& { return m.host_bandwidth; }, "between a GPU and the host"},
      {"inside_node.bandwidth", "bytes/s", 1e6, 1e14, false,
       [](M& m) -> double& { return m.inside.bandwidth; }, "a rank to others on its node"},
      {"inside_node.latency", "seconds", 1e-8, 1e-1, false,
       [](M& m) -> double& { return m.inside.latency; }, "a message within a node"},
      {"between_nodes.bandwidth", "bytes/s", 1e5, 1e13, false,
       [](M& m) -> double& { return m.between.bandwidth; }, "a rank's share of its node's network"},
      {"between_nodes.latency", "seconds", 1e-7, 1.0, false,
       [](M& m) -> double& { return m.between.latency; }, "a message between nodes"},
      {"nvme.bandwidth", "bytes/s", 1e6, 1e12, true,
       [](M& m) -> double& { return m.nvme_bandwidth; }, "local disks of a node"},
      {"file_system.bandwidth", "bytes/s", 1e6, 1e14, true,
       [](M& m) -> double& { return m.file_bandwidth; }, "all nodes together"},
      {"watts", "W", 0.1, 1e5, true, [](M& m) -> double& { return m.watts; },
       "a rank at work, with its share of the node"},
      {"efficiency.products", "share", 0.01, 1.0, true,
       [](M& m) -> double& { return m.efficiency.products; }, "large products, of the peak"},
      {"efficiency.half_side", "elements", 0.0, 1e5, true,
       [](M& m) -> double& { return m.efficiency.half_side; },
       "side of a matrix at which a product reaches half of that"},
      {"efficiency.attention", "share", 0.01, 1.0, true,
       [](M& m) -> double& { return m.efficiency.attention; }, "attention, of the peak"},
      {"efficiency.memory", "share", 0.01, 1.0, true,
       [](M& m) -> double& { return m.efficiency.memory; }, "element-wise work, of the bandwidth"},
      {"efficiency.network", "share", 0.01, 1.0, true,
       [](M& m) -> double& { return m.efficiency.network; }, "messages, of the bandwidth"},
      {"efficiency.overlap", "share", 0.0, 1.0, true,
       [](M& m) -> double& { return m.efficiency.overlap; },
       "part of a message's time beside which a rank computes"},
      {"efficiency.kernel_seconds", "seconds", 0.0, 1.0, true,
       [](M& m) -> double& { return m.efficiency.kernel_seconds; }, "fixed cost of a kernel"},
  };
  return keys;
}

}  // namespace triax
