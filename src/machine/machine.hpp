// SPDX-License-Identifier: Apache-2.0
#pragma once
// Description of a machine, as the price of a step needs it. All figures are per rank, which has a
// GPU or a share of a node's cores, unless they say otherwise. Units: bytes, seconds, FLOP/s.
#include <string>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Way of messages: bytes that a rank sends per second in one direction, and seconds per message.
struct Link {
  double bandwidth = 0.0;
  double latency = 0.0;
};

/// Shares of the peaks that kernels and messages reach, from 0 to 1, and fixed costs.
struct Efficiency {
  double products = 0.8;         // of FLOP/s, for products of large matrices
  double half_side = 128.0;      // side of a matrix at which a product reaches half of that share
  double attention = 0.5;        // of FLOP/s
  double memory = 0.8;           // of memory bandwidth, for element-wise work
  double network = 0.8;          // of the bandwidth of both links
  double overlap = 1.0;          // share of a message's time beside which a rank computes
  double kernel_seconds = 4e-6;  // fixed cost of a kernel
  bool operator==(const Efficiency&) const = default;
};

struct Machine {
  std::string name;
  MemorySpace space = MemorySpace::device;  // of the tensors: a GPU's memory, or the host's
  int ranks_per_node = 8;
  /// Peak FLOP/s of dense products by type; 0: the type is not supported.
  double f32_flops = 0.0, bf16_flops = 0.0, f16_flops = 0.0, fp8_flops = 0.0;
  double memory = 0.0;            // bytes of a GPU, or a rank's share of the node's
  double memory_bandwidth = 0.0;  // bytes/s
  double host_memory = 0.0;       // bytes of a node
  double host_bandwidth = 0.0;    // bytes/s between a GPU and the host; 0: none
  Link inside, between;           // within a node; between nodes
  double nvme_bandwidth = 0.0;    // bytes/s per node; 0: none
  double file_bandwidth = 0.0;    // bytes/s of the file system, all nodes together; 0: unknown
  double watts = 0.0;             // at work, with the rank's share of the node; 0: unknown
  Efficiency efficiency;

  /// Peak for a job's type; 0 if the machine does not have it.
  double flops(DType type, bool fp8) const;
};

}  // namespace triax
