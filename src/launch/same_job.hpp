// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether all ranks read the same job and the same data.
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// Version, commit, compiler and libraries, in a line.
std::string this_program();

/// Facts that must be the same on all ranks: the program (other code, or another MPI, may send
/// other messages), the job's keys, the model, and the size of each file that the ranks read, of
/// data (their index with them) and of the weights of model.from. It asks file systems, which may
/// keep a rank waiting.
std::string job_facts(const LoadedJob& job, const std::string& program = this_program());

/// Every rank reads the job and its data for itself: from a copy of its node, or a file system that
/// may show it an older state. Error on all ranks alike where the facts of one, another program or
/// job, or files with other names or sizes, are not those of rank 0; it says which rank, and what
/// differs. Collective.
void check_same_job(const Ranks& ranks, const std::string& facts);

/// Compares the contents of those files, as far as fingerprint() tells: one rank of each node
/// looks. Collective.
void check_same_data(const ProcessGrid& grid, const Config& config);

}  // namespace triax
