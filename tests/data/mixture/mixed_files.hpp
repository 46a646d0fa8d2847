// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sources of numbered tokens for tests: the token of a sample tells source and sample.
#include <string>
#include <vector>

#include "src/data/mixture/training_data.hpp"
#include "tests/io/token_fixtures.hpp"

namespace triax::test {

/// A file of `samples` samples of `length` tokens: token t is `first` + t.
inline std::string numbered_file(const TempDirectory& directory, const std::string& name,
                                 int samples, int length, int first) {
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(samples * length + 1));
  std::iota(tokens.begin(), tokens.end(), static_cast<std::uint16_t>(first));
  return directory.file(name, llmc_shard(tokens));
}

/// Readers of the sources of data.train.
inline std::vector<TokenReader> readers_of(const DataConfig& data,
                                           const std::vector<std::vector<std::string>>& files) {
  std::vector<TokenReader> readers;
  for (const auto& source : files)
    readers.emplace_back(source, data.sequence_length, data.shuffle, data.seed);
  return readers;
}

inline std::vector<std::int32_t> sample_of(const SampleReader& reader, std::int64_t index,
                                           int length) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length) + 1);
  reader.sample(index, tokens);
  return tokens;
}

}  // namespace triax::test
