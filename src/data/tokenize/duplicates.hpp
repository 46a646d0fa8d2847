// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents whose text an earlier document has.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// A bit per document, in the order of DocumentScan.
class DocumentBits {
 public:
  explicit DocumentBits(std::int64_t documents)
      : words_(static_cast<std::size_t>((documents + 63) / 64)) {}
  void set(std::int64_t document) {
    words_[static_cast<std::size_t>(document) / 64] |= std::uint64_t{1} << (document % 64);
  }
  bool operator[](std::int64_t document) const {
    return (words_[static_cast<std::size_t>(document) / 64] >> (document % 64) & 1) != 0;
  }
  std::vector<std::uint64_t>& words() { return words_; }

 private:
  std::vector<std::uint64_t> words_;
};

/// Collective. The documents of `parts` parts that are to be left out as copies of an earlier one
/// of at least `least_tokens` tokens. Each rank compares the hashes of its share of their range, in
/// at most 96 MiB at a time; the parts' records are read once for each.
DocumentBits find_duplicates(const std::string& directory, std::size_t parts,
                             std::int64_t documents, std::int64_t least_tokens, const Ranks& ranks);

}  // namespace triax
