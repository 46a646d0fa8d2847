// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/duplicates.hpp"

#include <algorithm>

#include "src/data/tokenize/parts.hpp"

namespace triax {
namespace {

struct Hashed {
  TextHash hash;
  std::int64_t document = 0;
  auto operator<=>(const Hashed&) const = default;
};

// Marks the copies among the documents whose hash falls into share `share` of `shares`.
void mark_share(const std::string& directory, std::size_t parts, std::int64_t least_tokens,
                std::uint64_t share, std::uint64_t shares, DocumentBits& copies) {
  std::vector<Hashed> hashed;
  DocumentScan scan(directory, parts);
  DocumentScan::Document document;
  for (std::int64_t d = 0; scan.next(document); ++d)
    if (!document.left_out && document.tokens >= least_tokens &&
        document.hash.high % shares == share)
      hashed.push_back({document.hash, d});
  std::ranges::sort(hashed);
  for (std::size_t i = 1; i < hashed.size(); ++i)
    if (hashed[i].hash == hashed[i - 1].hash) copies.set(hashed[i].document);
}

}  // namespace

DocumentBits find_duplicates(const std::string& directory, std::size_t parts,
                             std::int64_t documents, std::int64_t least_tokens,
                             const Ranks& ranks) {
  // A vector that grows takes up to three times its elements.
  constexpr std::int64_t most_bytes = std::int64_t{96} << 20;
  constexpr std::int64_t most = most_bytes / 3 / static_cast<std::int64_t>(sizeof(Hashed));
  const std::int64_t shares = std::max<std::int64_t>(ranks.size, (documents + most - 1) / most);
  DocumentBits copies(documents);
  agreed(ranks, [&] {
    for (std::int64_t share = ranks.rank; share < shares; share += ranks.size)
      mark_share(directory, parts, least_tokens, static_cast<std::uint64_t>(share),
                 static_cast<std::uint64_t>(shares), copies);
  });
  // No two ranks mark the same document: the sum is the union.
  sum_over_ranks(ranks, copies.words());
  return copies;
}

}  // namespace triax
