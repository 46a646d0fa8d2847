// SPDX-License-Identifier: Apache-2.0
#pragma once
// `triax checkpoint inspect`: shows the contents of a checkpoint.
#include <cstdint>
#include <string>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// The tokenizer of a checkpoint, as who can read it says; its files are known here.
struct InspectedTokenizer {
  std::string kind, hash;  // kind: "tokenizer.json", "bytes", ..; empty: only the hash is known
  std::int64_t vocabulary = 0;
};

/// The header (step, tokens, grid, model, parameters, tokenizer), then one line per tensor: name,
/// type, shape, min, max, mean and L2 norm of its finite elements, and the numbers of NaN and
/// infinite ones. Data are read in pieces of bounded size. `json`: one JSON object, else a table.
/// Collective: each rank reads its share, and the text is the same on every rank and for any number
/// of ranks. MPI_COMM_NULL: one process. Error as CheckpointReader's.
std::string inspect_checkpoint(const std::string& path, bool json,
                               const Ranks& ranks = MPI_COMM_NULL,
                               const InspectedTokenizer& tokenizer = {});

}  // namespace triax
