#pragma once
// From which size on collectives of a node go through shared memory, found by trying both ways.
#include "src/comm/node_communicator.hpp"

namespace triax {

/// Collective, with no message of the group under way; the same on all its ranks. Takes some tens
/// of milliseconds, and leaves no memory taken.
///
/// A run must repeat itself bit for bit though its measurements do not. So only that is measured
/// which cannot change a result: what moves data, and sums within a node from direct::least_bytes
/// on, which both ways make in the order of the ranks. Which is faster depends on what caches the
/// ranks share: with none, shared slots move through memory one line at a time. Groups across nodes
/// keep `fixed`.sums, for they add up each node's first; and where ranks share cores
/// (WaitPolicy::yield; one of them is enough) all is as in `fixed`: times say little there.
NodeThresholds measured_thresholds(MpiCommunicator& mpi, NodeCommunicator& node, WaitPolicy policy,
                                   const NodeThresholds& fixed = {});

/// The smallest of ascending `sizes` from which on `node` takes less time than `mpi`; never where
/// it takes more at the largest.
std::uint64_t faster_from(const std::vector<std::uint64_t>& sizes, const std::vector<double>& mpi,
                          const std::vector<double>& node);

}  // namespace triax
