// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers of a token file: `triax data inspect`, `triax data verify`.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "src/data/files/token_set.hpp"

namespace triax {

struct TokenStatistics {
  std::int64_t documents = -1;             // -1: the file does not tell them apart
  std::int64_t shortest = 0, longest = 0;  // documents, in tokens
  /// Documents of [2^i, 2^(i+1)) tokens; those of no tokens are in the first.
  std::vector<std::int64_t> histogram;
  std::int64_t distinct = 0;  // ids that occur
  std::int32_t least_id = 0, largest_id = 0;
};

/// Reads all of the file.
TokenStatistics statistics_of(const TokenSet& set);

/// Report of `triax data inspect`, as text or JSON.
std::string inspect_text(const TokenSet& set, const TokenStatistics& statistics, bool json);

/// Problems of the file, each one line; none: its tokens are as they were written. Reads all of it.
std::vector<std::string> problems_of(const TokenSet& set);

}  // namespace triax
