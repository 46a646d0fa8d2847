#pragma once
// `triax checkpoint inspect`: what a checkpoint holds, for people and for programs.
#include <string>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// The header (step, tokens, grid, model, parameters) and a line for each tensor: name, type,
/// shape, and over its finite elements min, max, mean and L2 norm, with the count of NaN and
/// infinite ones. Data pass through in pieces of bounded size. `json`: one JSON object; else a
/// table. Collective: the ranks share out the reading, the text is the same on every rank and
/// whatever their number; MPI_COMM_NULL: one process. Error as CheckpointReader's.
std::string inspect_checkpoint(const std::string& path, bool json,
                               const Ranks& ranks = MPI_COMM_NULL);

}  // namespace triax
