// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tokenizes a corpus: `triax data tokenize`.
#include "kernels/base/mpi/agree.hpp"
#include "src/data/tokenize/options.hpp"

namespace triax {

/// Collective. Encodes the documents of the inputs and writes token files PREFIX.* (or
/// PREFIX_train.* and PREFIX_val.*). The bytes do not depend on the number of ranks and threads. A
/// job that was stopped or killed goes on with the parts it left in PREFIX.tokenize. Rank 0 shows
/// the progress. UsageError and Error on all ranks alike.
TokenizeReport tokenize(const TokenizeOptions& options, const Ranks& ranks);

}  // namespace triax
