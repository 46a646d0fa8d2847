// SPDX-License-Identifier: Apache-2.0
#pragma once
// Differences between architectures: their layers, and the names, orientation and initial values of
// their tensors under Hugging Face.
#include <string>

#include "src/config/config.hpp"
#include "src/model/linear.hpp"

namespace triax {

/// Layers and variants that a model is made of.
struct ArchitectureTraits {
  bool layer_norm;       // LayerNorm, with a bias; else RMSNorm
  bool gated_mlp;        // SwiGLU of two maps; else GELU of one
  bool rotary;           // rotary positions; else learned ones
  bool fused_qkv;        // one tensor holds queries, keys and values
  bool scaled_residual;  // maps that add to the residual stream start smaller
  WeightOrder order;
};
const ArchitectureTraits& traits_of(const ModelConfig& model);

/// Names of the tensors outside the blocks; position_embedding is empty without learned positions.
struct ModelNames {
  std::string token_embedding, position_embedding, final_norm, head;
  static ModelNames of(const ModelConfig& model);
};
/// Names of a norm in block `layer`: "transformer.h.3.ln_1".
std::string attention_norm_name(const ModelConfig& model, int layer);
std::string mlp_norm_name(const ModelConfig& model, int layer);

/// Query, key and value heads of a tensor rank.
struct HeadShard {
  int heads, kv_heads;       // on this rank
  int first_head, first_kv;  // global index of the first
  int kv_copies;             // tensor ranks that hold the same key/value heads
};
/// Throws UsageError if the tensor size does not divide the heads.
HeadShard head_shard(const ModelConfig& model, const TensorShard& shard);

/// (rows, E) -> (rows, (H + 2 Hkv) D): q, k, v one after another.
Linear qkv_projection(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, H D) -> (rows, E), partial sums.
Linear attention_output(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, E) -> (rows, I), or (rows, 2 I), gate first, for gated architectures.
Linear mlp_input(const ModelConfig& model, int layer, const TensorShard& shard);
/// (rows, I) -> (rows, E), partial sums.
Linear mlp_output(const ModelConfig& model, int layer, const TensorShard& shard);

}  // namespace triax
