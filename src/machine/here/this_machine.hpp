// SPDX-License-Identifier: Apache-2.0
#pragma once
// The node that this process runs on, as a machine of CPU ranks.
#include "src/machine/machine.hpp"

namespace triax {

/// Figures of a node of `ranks` ranks (0: one per core), measured in about two seconds on all cores
/// at once: float32 and bf16 products of large and small matrices, and the bandwidth of memory.
/// Ranks share that evenly; with more ranks than cores each has a part of one. Messages on the node
/// take two copies in memory. Not measured: attention, latencies, and the network (1 GB/s per
/// node). Requires a KernelRuntime, whose threads are the cores.
Machine this_machine(int ranks);

/// Efficiency::half_side from the rates of two square products: the h for which rates are in
/// proportion to (n / (n + h))^3. At least 0.
double half_side_of(double small_side, double small_rate, double large_side, double large_rate);

}  // namespace triax
