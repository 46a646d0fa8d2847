// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes one unit into its part; each thread has one encoder.
#include <memory>
#include <vector>

#include "src/data/tokenize/encode_job.hpp"
#include "src/data/tokenize/parts.hpp"
#include "src/data/units/unit_threads.hpp"

namespace triax {

class UnitEncoder {
 public:
  UnitEncoder(const EncodeJob& job, UnitCounters& counters);
  /// Makes part `unit`. Returns early, without the part, where counters.stop is set.
  void encode(std::size_t unit);

 private:
  // False where the unit has all documents that are asked for, or the work stops.
  bool encode_segment(const Segment& segment, PartWriter& part, PartCounts& counts);
  void add(const DocumentReader::Piece& piece, bool begins, PartWriter& part, PartCounts& counts);

  const EncodeJob& job_;
  UnitCounters& counters_;
  std::unique_ptr<Tokenizer::Encoder> encoder_;
  std::vector<std::int32_t> ids_;
};

}  // namespace triax
