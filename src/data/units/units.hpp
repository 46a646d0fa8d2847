// SPDX-License-Identifier: Apache-2.0
#pragma once
// Units of work: what one thread reads at a time.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/documents/document_reader.hpp"

namespace triax {

struct Segment {
  std::size_t file;  // index of the input file
  ByteRange range;
};

struct Unit {
  std::vector<Segment> segments;  // in the order of the files
  std::int64_t bytes = 0;         // on disk
  std::int64_t cost = 0;          // bytes of text, estimated for compressed files
};

/// Cuts the files into units of 16 MiB or more, at most about 4096 of them beside those of
/// compressed files, which are never cut. Depends on the files alone.
std::vector<Unit> cut_units(const std::vector<InputFile>& files);

/// The units of rank `rank` of `ranks`, the longest first, so that all ranks end at about the same
/// time. `in_order`: by number, one after another in turns.
std::vector<std::size_t> units_of_rank(const std::vector<Unit>& units, int rank, int ranks,
                                       bool in_order);

/// Sizes, times, formats and names of files as a text: equal where they have not changed.
std::string files_text(const std::vector<InputFile>& files);

}  // namespace triax
