// SPDX-License-Identifier: Apache-2.0
#pragma once
// FLOPs of a model, and the partition of its blocks into pipeline chunks by them.
#include <cstdint>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// FLOPs of one token's forward pass through a block, 2 per multiply-add; attention counts the keys
/// that a query sees on average.
double block_flops(const ModelConfig& model, int block, std::int64_t sequence_length);
/// The same through the output projection.
double head_flops(const ModelConfig& model);
/// FLOPs of one token's training step: three times the forward pass (6 N, plus attention).
double training_flops_per_token(const ModelConfig& model, std::int64_t sequence_length);
/// Attention's share of training_flops_per_token. Without windows, counting the whole square
/// instead adds as much again.
double attention_flops_per_token(const ModelConfig& model, std::int64_t sequence_length);

/// First transformer block of each global chunk, and the end: chunks + 1 numbers. The partition
/// minimises the FLOPs of the most expensive chunk, and of those partitions the sum of the squares
/// of all chunks' FLOPs; the last chunk includes the head. `speeds`: by chunk, FLOPs are divided by
/// them; empty: all alike. Throws UsageError if there are fewer blocks than chunks.
std::vector<int> partition_blocks(const ModelConfig& model, int chunks,
                                  std::int64_t sequence_length,
                                  const std::vector<double>& speeds = {});

/// The same numbers where chunk g has layers[g] blocks.
std::vector<int> cuts_of(const std::vector<int>& layers);

}  // namespace triax
