// SPDX-License-Identifier: Apache-2.0
#pragma once
// Token embedding with the vocabulary sharded over the tensor axis, plus GPT-2's learned positions.
#include <vector>

#include "src/config/config.hpp"
#include "src/model/layer.hpp"

namespace triax {

/// The rows of the vocabulary on one tensor rank. The vocabulary is padded in memory to a multiple
/// of the tensor size (and of 16, for the GEMM); padded rows are zero and their logits never reach
/// the softmax.
struct VocabularyShard {
  std::int64_t rows;     // in memory, padding included
  std::int64_t first;    // token of the first row
  std::int64_t columns;  // rows that are real tokens
};
VocabularyShard vocabulary_shard(std::int64_t vocabulary, const TensorShard& shard);

/// The (V, E) matrix of the token embedding or of the head.
ParameterSpec vocabulary_parameter(const std::string& label, const std::string& name,
                                   const ModelConfig& model, const TensorShard& shard, bool tied);

class EmbeddingLayer : public Layer {
 public:
  /// `shares_head`: the head of the same stage uses the same matrix, and writes its gradient before
  /// this layer does.
  EmbeddingLayer(const ModelConfig& model, const TensorShard& shard, bool shares_head);

  const std::vector<ParameterSpec>& params() const override { return params_; }
  std::size_t frame_bytes(const BatchShape&) const override { return 0; }
  std::size_t scratch_bytes(const BatchShape& shape) const override;
  LayerMessages messages(const BatchShape& shape) const override;
  void forward(const Context& ctx, const LayerParameters& params, const Tensor& x, const Tensor& y,
               const Tensor& frame) const override;
  void backward(const Context& ctx, const LayerParameters& params, const Tensor& x,
                const Tensor& dy, const Tensor& dx, const Tensor& frame) const override;

 private:
  // Rows of the position table for the tokens of this rank, where documents set the positions.
  Tensor take_position_rows(Arena& arena, const BatchShape& shape) const;

  std::int64_t width_;
  float dropout_;
  float scale_;  // of token embeddings
  TensorShard shard_;
  bool shares_head_;
  bool positions_;
  VocabularyShard vocabulary_;
  std::vector<ParameterSpec> params_;
};

}  // namespace triax
