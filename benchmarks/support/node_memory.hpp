// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks that a benchmark's memory fits, because a job without enough memory is killed without a
// message.
#include <mpi.h>

#include <string>

namespace triax::benchmark {

/// Communicator of the ranks on this node; the caller frees it. Collective over all ranks of the
/// job.
MPI_Comm ranks_of_own_node();
/// Number of ranks on this node. Collective over all ranks of the job.
int ranks_of_node();

/// Why `ranks` ranks of a node cannot have `bytes` each; empty if they can.
std::string lacking_memory(const std::string& what, double bytes, int ranks);

/// lacking_memory() for all nodes, each with its own ranks: not empty on any rank if some node
/// lacks memory. Collective over all ranks of the job.
std::string lacking_on_any_node(const std::string& what, double bytes);
/// Throws a UsageError with that text.
void require_memory(const std::string& what, double bytes, int ranks);

}  // namespace triax::benchmark
