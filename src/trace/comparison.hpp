// SPDX-License-Identifier: Apache-2.0
#pragma once
// A traced step beside its prediction.
#include <string>
#include <vector>

#include "src/trace/prediction.hpp"

namespace triax {

/// Seconds of an instruction, or of all instructions of a kind, of a stage in one step. Waiting
/// counts for the instruction that waits.
struct ComparedTime {
  int stage = 0;
  std::string name;  // text_of(op), or the words of a kind: "F", "reduce wait"
  int count = 0;     // instructions
  double measured = 0.0, predicted = 0.0;
  double difference() const { return measured - predicted; }
};

struct TraceComparison {
  double measured = 0.0, predicted = 0.0;  // seconds of the step
  double batch = 0.0;                      // of that measured, for reading the batch
  std::vector<ComparedTime> kinds;         // of each stage, by their first position in its plan
  std::vector<ComparedTime> largest;       // single instructions, the largest difference first
  int steps = 0, ranks = 0;                // that were traced
};

/// `most`: of `largest`.
TraceComparison compare(const RunTrace& trace, const TracedJob& job, const Timeline& predicted,
                        std::size_t most = 10);

/// `prediction`: how the prediction was made, for the heading.
std::string comparison_text(const TraceComparison& comparison, const std::string& prediction);
std::string comparison_json(const TraceComparison& comparison, const std::string& prediction);

}  // namespace triax
