// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether all ranks read the same job and the same data.
#include <string>

#include "kernels/base/mpi/agree.hpp"
#include "src/comm/grid/process_grid.hpp"
#include "src/config/load/load.hpp"

namespace triax {

/// Version, commit, compiler and libraries, on one line.
std::string this_program();

/// JSON text of the facts that must be equal on all ranks: the program (other code or another MPI
/// may send other messages), the job's keys, the model, and the size of each data file, index file
/// and weight file of model.from. Queries file systems, which may block.
std::string job_facts(const LoadedJob& job, const std::string& program = this_program());

/// Error on all ranks if the facts of a rank (program, job, file names, file sizes) differ from
/// rank 0's; its text names the host and the differences. Each rank reads the job and its data
/// itself, from a copy on its node or from a file system that may show an older state. Collective.
void check_same_job(const Ranks& ranks, const std::string& facts);

/// Compares fingerprint() of the same files between nodes; one rank per node reads them. Error on
/// all ranks if they differ. Collective.
void check_same_data(const ProcessGrid& grid, const Config& config);

}  // namespace triax
