#pragma once
// Whether all ranks read the same job and the same data.
#include "io/agree.hpp"
#include "src/config/load.hpp"

namespace triax {

/// Version, commit, compiler and libraries, in a line.
std::string this_program();

/// Every rank reads the job and its data for itself: from a copy of its node, or a file system that
/// may show it an older state. UsageError on all ranks alike where one has another job, or files of
/// data with other names or sizes, than rank 0; it says which rank, and what differs. Collective.
/// So it is with `program`: other code, or another MPI, may send other messages.
void check_same_job(const Ranks& ranks, const LoadedJob& job,
                    const std::string& program = this_program());

}  // namespace triax
