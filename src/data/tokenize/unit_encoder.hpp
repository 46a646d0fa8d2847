// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes one unit into its part; each thread has one encoder.
#include <atomic>
#include <memory>
#include <vector>

#include "src/data/tokenize/parts.hpp"
#include "src/data/tokenize/units.hpp"

namespace triax {

/// Numbers that the threads of a rank share.
struct EncodeCounters {
  std::atomic<std::int64_t> bytes = 0;      // on disk, of the units that are done or under way
  std::atomic<std::int64_t> bad_lines = 0;  // of the units that are done or under way
  std::atomic<bool> stop = false;           // another thread or rank failed
};

class UnitEncoder {
 public:
  UnitEncoder(const EncodeJob& job, EncodeCounters& counters);
  /// Makes part `unit`. Returns early, without the part, where counters.stop is set.
  void encode(std::size_t unit);

 private:
  // False where the unit has all documents that are asked for, or the work stops.
  bool encode_segment(const Segment& segment, PartWriter& part, PartCounts& counts);
  void add(const DocumentReader::Piece& piece, bool begins, PartWriter& part, PartCounts& counts);
  void bad_line(const std::string& problem, const std::string& why);

  const EncodeJob& job_;
  EncodeCounters& counters_;
  std::unique_ptr<Tokenizer::Encoder> encoder_;
  std::vector<std::int32_t> ids_;
};

}  // namespace triax
