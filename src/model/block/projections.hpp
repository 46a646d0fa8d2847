// SPDX-License-Identifier: Apache-2.0
#pragma once
// The linear maps of a block, from the spec of its architecture: which heads and features a tensor
// rank has, and the tensors of the checkpoint that they are cut from.
#include <string>

#include "src/config/config.hpp"
#include "src/model/adapter/adapted_linear.hpp"
#include "src/model/families/families.hpp"

namespace triax {

/// Name of a part of block `layer`: "transformer.h.3.ln_1". Empty if `part` is.
std::string block_name(const ModelConfig& model, int layer, const char* part);

/// Query, key and value heads of a tensor rank.
struct HeadShard {
  int heads, kv_heads;       // on this rank
  int first_head, first_kv;  // global index of the first
  int kv_copies;             // tensor ranks that hold the same key/value heads
};
/// Throws UsageError if the tensor size does not divide the heads.
HeadShard head_shard(const ModelConfig& model, const TensorShard& shard);

/// (rows, E) -> (rows, (H + 2 Hkv) D): q, k, v one after another.
AdaptedLinear qkv_projection(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, H D) -> (rows, E), partial sums.
AdaptedLinear attention_output(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, E) -> (rows, I), or (rows, 2 I), gate first, for gated architectures.
AdaptedLinear mlp_input(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, I) -> (rows, E), partial sums.
AdaptedLinear mlp_output(const ModelConfig& model, int layer, const TensorShard& shard);

}  // namespace triax
