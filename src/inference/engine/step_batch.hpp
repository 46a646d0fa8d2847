// SPDX-License-Identifier: Apache-2.0
#pragma once
// Description of one step, the same on all ranks of a replica.
#include <cstdint>
#include <vector>

namespace triax {

/// Rows of one sequence: tokens at the positions from `past` on. Its block table begins at element
/// `table` of StepBatch::tables.
struct StepChunk {
  std::int64_t rows = 0, past = 0, table = 0;
};

struct StepBatch {
  std::vector<std::int32_t> tokens, positions;  // (rows), chunk after chunk
  std::vector<StepChunk> chunks;
  std::vector<std::int32_t> tables;       // blocks of the cache
  std::vector<std::int32_t> logit_rows;   // rows whose logits are wanted, ascending
  std::vector<std::int32_t> hidden_rows;  // rows whose hidden states are wanted, ascending
  std::int64_t rows() const { return std::ssize(tokens); }
};

}  // namespace triax
