// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention of each block of a model: windows and rotary positions.
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// Attention of one block.
struct AttentionKind {
  int window = 0;  // keys that a query sees, its own included; 0: all
  int rope = 0;    // index in rotaries_of(model); -1: no rotary positions
};
AttentionKind attention_kind(const ModelConfig& model, int block);

/// Rotary positions of some of the blocks.
struct Rotary {
  double theta = 10000.0;
  RopeScaling scaling;
  int size = 0;  // rotated dimensions of each head
};
/// The different rotary positions of a model's blocks; empty without.
std::vector<Rotary> rotaries_of(const ModelConfig& model);

/// Keys that the queries of a sequence of `length` tokens see on average in this block.
double keys_per_query(const ModelConfig& model, int block, std::int64_t length);

}  // namespace triax
