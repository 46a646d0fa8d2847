// SPDX-License-Identifier: Apache-2.0
#pragma once
// Trains a tokenizer on a corpus: `triax data train-tokenizer`.
#include "kernels/base/mpi/agree.hpp"
#include "src/data/bpe_training/options.hpp"

namespace triax {

/// UsageError where the options cannot hold, whatever the files are.
void check_options(const TrainTokenizerOptions& options);

/// Collective. Counts the words of the inputs on all ranks, merges on rank 0, and writes
/// tokenizer.json and tokenizer_config.json into the directory `out`. The bytes do not depend on
/// the number of ranks and threads. Rank 0 shows the progress. UsageError and Error on all ranks
/// alike.
TrainTokenizerReport train_tokenizer(const TrainTokenizerOptions& options, const Ranks& ranks);

}  // namespace triax
