#pragma once
// Which collectives of a node go through shared memory, found by trying both ways.
#include <span>

#include "src/comm/host/node_communicator.hpp"

namespace triax {

/// Enough memory to see how large messages do: for one of 4 MiB and a little more.
inline constexpr std::size_t least_trial_bytes = (std::size_t{4} << 20) + (std::size_t{64} << 10);

/// Collective, with no message of the group under way. Sets the sizes of `node`, the same on all
/// its ranks; takes some tens of milliseconds where ranks are few, and a few hundred where they are
/// many. Messages of up to the size of `memory` (of the rank that has the least) are tried, in it;
/// what sums by messages hold is given back.
///
/// A run must repeat itself bit for bit though its measurements do not. So only that is measured
/// which cannot change a result: what moves data, and sums within a node from direct::least_bytes
/// on, which both ways make in the order of the ranks. Which is faster depends on what caches the
/// ranks share: with none, what one has just written into its slot comes slowly to the other, and
/// large sums do better by messages. Groups across nodes keep the sizes of their sums, for they add
/// up each node's first; and where ranks share cores (WaitPolicy::yield; one of them is enough) all
/// stays: times say little there.
void choose_sizes(MpiCommunicator& mpi, NodeCommunicator& node, WaitPolicy policy,
                  std::span<std::byte> memory);

/// Where `node` takes less time than `mpi`: the longest run of the ascending `sizes`, of equal ones
/// the last, from its first size to that behind its last, or to any that is larger than all.
NodeSizes::Range faster_range(std::span<const std::uint64_t> sizes, std::span<const double> mpi,
                              std::span<const double> node);

}  // namespace triax
