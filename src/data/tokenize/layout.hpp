// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order of the documents in an output, on disk: memory holds one number per extent alone.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/files/mapped_file.hpp"
#include "io/tokens/permutation.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/data/tokenize/duplicates.hpp"
#include "src/data/tokenize/options.hpp"

namespace triax {

/// Location of a document's tokens in the parts.
struct PlacedDocument {
  std::int64_t part = 0, offset = 0;  // tokens from the part's begin
  std::int64_t tokens = 0;            // they may go on in the next parts
};

/// Position in the order of an output: a document, and a token of it.
struct OutputPosition {
  std::int64_t document = 0, token = 0;
};

/// One output's documents.
class Layout {
 public:
  std::int64_t documents() const { return documents_; }
  std::int64_t tokens() const { return tokens_; }
  /// Begin of an extent.
  OutputPosition extent(std::int64_t extent) const;
  /// Document `position` of the output.
  PlacedDocument document(std::int64_t position) const;
  /// File of the documents' lengths (document_lengths.hpp), in the order of the output.
  const std::string& lengths_path() const { return lengths_path_; }

 private:
  friend class LayoutMaker;
  std::int64_t documents_ = 0, tokens_ = 0;
  std::vector<std::int64_t> extents_;  // document and token, for each
  std::optional<Permutation> order_;   // position to document
  std::shared_ptr<const MappedFile> table_;
  std::string lengths_path_;
};

/// Numbers of documents that were left out.
struct LeftOut {
  std::int64_t duplicates = 0, too_short = 0;
};

/// Collective. The layouts of output_sets(options) over `parts` parts in `directory`. `copies` is
/// empty of bits without deduplication. UsageError where an output has no documents.
std::vector<Layout> make_layouts(const TokenizeOptions& options, const std::string& directory,
                                 std::size_t parts, const DocumentBits& copies, const Ranks& ranks,
                                 LeftOut& left_out);

}  // namespace triax
