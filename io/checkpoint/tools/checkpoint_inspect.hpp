// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint inspect`: shows the contents of a checkpoint.
#include <string>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// The header (step, tokens, grid, model, parameters), then one line per tensor: name, type, shape,
/// min, max, mean and L2 norm of its finite elements, and the numbers of NaN and infinite ones.
/// Data are read in pieces of bounded size. `json`: one JSON object, else a table. Collective: each
/// rank reads its share, and the text is the same on every rank and for any number of ranks.
/// MPI_COMM_NULL: one process. Error as CheckpointReader's.
std::string inspect_checkpoint(const std::string& path, bool json,
                               const Ranks& ranks = MPI_COMM_NULL);

}  // namespace triax
