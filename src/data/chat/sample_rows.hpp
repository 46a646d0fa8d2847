// SPDX-License-Identifier: Apache-2.0
#pragma once
// Samples as rows of one length in an HDF5 token file: /tokens and /labels, filled up with tokens
// that the loss ignores, and /documents where samples of a row must not see each other.
#include <cstdint>
#include <string>

#include "src/data/chat/packing.hpp"
#include "src/data/chat/sample_file.hpp"

namespace triax {

/// Form of the rows of a file.
struct RowForm {
  std::int64_t length = 0;  // tokens
  std::int32_t fill = 0;    // id of the tokens that fill rows up
  bool documents = false;   // every sample is a document, and so is what fills a row up
  int rows_per_sample = 1;  // 2: a chosen and a rejected answer in turn
  bool last = true;         // of the files that are read as one: a token more follows the last row
};

/// Writes `rows` of `samples` to `path`; it gets its name when it is whole. A training sample is
/// its inputs and a label behind them, so a token more follows the last row of the last file.
void write_rows(const SampleFile& samples, const SampleRows& rows, const RowForm& form,
                const std::string& path);

/// UsageError where `file` was written by write_rows() with rows that differ: pairs that are read
/// as single rows or the reverse, or pairs of another length. Other files do not say.
void check_row_form(const std::string& file, std::int64_t length, int rows_per_sample);

}  // namespace triax
