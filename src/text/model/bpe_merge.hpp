// SPDX-License-Identifier: Apache-2.0
#pragma once
// The merge loop of byte-pair encoding (Sennrich et al., 2016, arXiv:1508.07909): the pair of
// lowest rank is merged, the leftmost of equal ones, until no pair has a merge.
#include <cstdint>
#include <vector>

#include "src/text/model/pair_table.hpp"

namespace triax {

/// Scratch memory of one thread.
class BpeMerger {
 public:
  /// Merges `symbols` in place. O(n²) with little work for short pieces, O(n log n) for long ones.
  void merge(const PairTable& table, std::vector<std::int32_t>& symbols);

 private:
  static constexpr std::size_t short_piece = 48;  // symbols; measured: the heap is faster beyond
  void merge_short(const PairTable& table, std::vector<std::int32_t>& symbols);
  void merge_long(const PairTable& table, std::vector<std::int32_t>& symbols);

  std::vector<Merge> pairs_;                   // of symbol i and the next one
  std::vector<std::uint32_t> before_, after_;  // neighbours of symbol i
  std::vector<std::uint64_t> heap_;            // rank << 32 | symbol; stale ones are skipped
};

}  // namespace triax
