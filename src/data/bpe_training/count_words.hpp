// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the words of a corpus, on all threads of all ranks.
#include <vector>

#include "src/data/bpe_training/options.hpp"
#include "src/data/bpe_training/shared_words.hpp"
#include "src/data/units/unit_threads.hpp"
#include "src/data/units/units.hpp"
#include "src/text/split/splitter.hpp"

namespace triax {

struct CountJob {
  const TrainTokenizerOptions& options;
  const std::vector<InputFile>& files;
  const std::vector<Unit>& units;
  const Splitter& splitter;
};

/// Numbers of all ranks.
struct CorpusCounts {
  std::int64_t documents = 0;
  ReadCounts read;
};

/// Collective. Adds the words of this rank's units to `words`. Memory: what `words` takes, and
/// about 20 MiB per thread. Error on all ranks where one fails.
CorpusCounts count_words(const CountJob& job, const Ranks& ranks, SharedWords& words,
                         const UnitProgress& progress);

}  // namespace triax
