// SPDX-License-Identifier: Apache-2.0
#pragma once
// Seconds of messages by latency and bandwidth.
#include "src/forecast/message_plan.hpp"
#include "src/machine/machine.hpp"

namespace triax {

/// Bytes per second that each rank of a group moves in a collective whose ranks form rings. A group
/// on one node uses the link inside. Across nodes every rank of it on a node drives its own share
/// of the node's network, up to the link inside.
double bus_bandwidth(const SharingGroups::Group& group, const Machine& machine);

/// Seconds of a rank's `messages` in `group`: bytes that it sends (ring volume) over
/// bus_bandwidth(), and the latency of the steps: ranks - 1 for gathers and scatters, twice the
/// depth of a tree for sums. 0 for nothing.
double message_seconds(const Messages& messages, const SharingGroups::Group& group,
                       const Machine& machine);

/// Seconds of a message between two neighbouring ranks, `inside` a node or between nodes.
double send_seconds(double bytes, bool inside, const Machine& machine);

}  // namespace triax
