// SPDX-License-Identifier: Apache-2.0
#pragma once
// Documents of a segment.
#include <functional>

#include "src/data/units/unit_threads.hpp"
#include "src/data/units/units.hpp"

namespace triax {

/// A segment, and how it is read.
struct SegmentInput {
  const InputFile& file;
  ByteRange range;
  const DocumentOptions& documents;
  std::int64_t skip_bad = 0;  // lines that all threads of a rank may pass over
};

/// Gets a piece; `begins`: a document begins with it. Returns whether it wants more.
using TakePiece = std::function<bool(const DocumentReader::Piece& piece, bool begins)>;

/// Reads a segment to its end, or until `take` wants no more or counters.stop is set: then false.
/// Error where the file has changed since it was found, or more lines than `skip_bad` are bad.
bool read_segment(const SegmentInput& input, UnitCounters& counters, ReadCounts& counts,
                  const TakePiece& take);

}  // namespace triax
