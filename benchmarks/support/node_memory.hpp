#pragma once
// Whether what a benchmark allocates fits: memory that is not there ends a job without a word.
#include <mpi.h>

#include <string>

namespace triax::benchmark {

/// The ranks of this one's node; the caller frees it. Collective over all ranks of the job.
MPI_Comm ranks_of_own_node();
/// How many they are. Collective likewise.
int ranks_of_node();

/// Why so many ranks of a node cannot have `bytes` each, in words; empty where they can.
std::string lacking_memory(const std::string& what, double bytes, int ranks);

/// The same of all nodes, each with its own ranks: not empty on any rank where some node lacks
/// memory. Collective over all ranks of the job.
std::string lacking_on_any_node(const std::string& what, double bytes);
/// UsageError with those words.
void require_memory(const std::string& what, double bytes, int ranks);

}  // namespace triax::benchmark
