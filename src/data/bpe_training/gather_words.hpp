// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words of all ranks on rank 0.
#include "kernels/base/mpi/agree.hpp"
#include "src/data/bpe_training/shared_words.hpp"
#include "src/data/bpe_training/token_words.hpp"

namespace triax {

/// Partitions for `ranks` ranks.
std::size_t word_partitions(int ranks);

/// Collective. Moves the words of all ranks to `words` of rank 0, each once with its count. On the
/// way each rank sums up the counts of its share of the partitions. Returns the number of words, on
/// every rank.
std::int64_t gather_words(SharedWords& shared, const Ranks& ranks, TokenWords& words);

}  // namespace triax
