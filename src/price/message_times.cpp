// SPDX-License-Identifier: Apache-2.0
#include "src/price/message_times.hpp"

#include <algorithm>
#include <cmath>

namespace triax {
namespace {

// Latency of `steps` steps in which each node is passed once and the links inside else.
double ring_latency(const SharingGroups::Group& group, const Machine& machine) {
  const int nodes = std::max(1, group.ranks / std::max(1, group.sharing));
  return (group.ranks - nodes) * machine.inside.latency +
         (nodes > 1 ? nodes * machine.between.latency : 0.0);
}

double tree_latency(const SharingGroups::Group& group, const Machine& machine) {
  const int nodes = std::max(1, group.ranks / std::max(1, group.sharing));
  const auto depth = [](int ranks) { return std::ceil(std::log2(static_cast<double>(ranks))); };
  return 2.0 * (depth(std::max(1, group.sharing)) * machine.inside.latency +
                depth(nodes) * machine.between.latency);
}

}  // namespace

double bus_bandwidth(const SharingGroups::Group& group, const Machine& machine) {
  const double inside = machine.inside.bandwidth * machine.efficiency.network;
  if (group.sharing >= group.ranks) return inside;
  const double between = group.sharing * machine.between.bandwidth * machine.efficiency.network;
  return group.sharing > 1 ? std::min(inside, between) : between;
}

double message_seconds(const Messages& messages, const SharingGroups::Group& group,
                       const Machine& machine) {
  if (group.ranks <= 1) return 0.0;
  const Traffic total = messages.total();
  if (total.messages == 0) return 0.0;
  const auto sums = static_cast<double>(messages.all_reduce.messages);
  const auto rings =
      static_cast<double>(messages.reduce_scatter.messages + messages.all_gather.messages);
  return static_cast<double>(total.bytes) / bus_bandwidth(group, machine) +
         sums * tree_latency(group, machine) + rings * ring_latency(group, machine);
}

double send_seconds(double bytes, bool inside, const Machine& machine) {
  const Link& link = inside ? machine.inside : machine.between;
  return bytes / (link.bandwidth * machine.efficiency.network) + link.latency;
}

}  // namespace triax
