// SPDX-License-Identifier: Apache-2.0
#pragma once
// Chooses by measurement which collectives of a group use shared memory.
#include <span>

#include "src/comm/host/node_communicator.hpp"

namespace triax {

/// Smallest useful trial memory: one message of 4 MiB, plus a margin for rounding shards up.
inline constexpr std::size_t least_trial_bytes = (std::size_t{4} << 20) + (std::size_t{64} << 10);

/// Collective, with no message of the group under way. Sets the sizes of `node`, the same on all
/// its ranks. Takes tens of milliseconds with few ranks and a few hundred with many. Messages up to
/// the smallest `memory` of any rank are tried in it, which overwrites it; memory that MPI-side
/// sums hold is freed afterwards.
///
/// A run must repeat bit for bit although measurements do not. Only choices that cannot change a
/// result are measured: gathers, and sums within one node from direct::least_bytes() on, which both
/// ways add in rank order. Which is faster depends on the caches the ranks share: without a shared
/// cache, freshly written slots are slow to read and large sums are faster by messages. Groups
/// across nodes keep the sizes of their sums, since they add within each node first. If any ranks
/// share cores (WaitPolicy::yield), all sizes stay: times mean little there.
void choose_sizes(MpiCommunicator& mpi, NodeCommunicator& node, WaitPolicy policy,
                  std::span<std::byte> memory);

/// Range of sizes for which `node` takes less time than `mpi`: the longest contiguous stretch of
/// the ascending `sizes` (the last one among equals), from its first size up to the size after its
/// last, or unlimited.
NodeSizes::Range faster_range(std::span<const std::uint64_t> sizes, std::span<const double> mpi,
                              std::span<const double> node);

}  // namespace triax
