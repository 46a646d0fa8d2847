#pragma once
// Whether what a benchmark allocates fits: memory that is not there ends a job without a word.
#include <string>

namespace triax::benchmark {

/// The ranks of this one's node. Collective over all ranks of the job.
int ranks_of_node();

/// Why so many ranks of a node cannot have `bytes` each, in words; empty where they can.
std::string lacking_memory(const std::string& what, double bytes, int ranks);

/// UsageError with those words.
void require_memory(const std::string& what, double bytes, int ranks);

}  // namespace triax::benchmark
