// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work of the model's layers on one tensor rank: products, attention, and bytes of element-wise
// operations.
#include <vector>

#include "src/config/config.hpp"
#include "src/model/context.hpp"

namespace triax {

/// A matrix product (m, k) x (k, n).
struct MatrixProduct {
  double m = 0.0, n = 0.0, k = 0.0;
  double flops() const { return 2.0 * m * n * k; }
};

/// Forward pass of a layer on a micro-batch. The backward pass has each product twice, attention
/// two and a half times (its scores are computed again), and the bytes twice.
struct LayerWork {
  std::vector<MatrixProduct> products;
  double attention_flops = 0.0;
  double bytes = 0.0;  // read and written by element-wise operations
  int kernels = 0;
};

/// `shard`: the tensor rank; `block`: its number in the model, of which windows depend.
LayerWork block_work(const ModelConfig& model, int block, const TensorShard& shard,
                     const BatchShape& shape);
/// Token (and position) embeddings.
LayerWork embedding_work(const ModelConfig& model, const BatchShape& shape);
/// Final norm, logits and loss.
LayerWork head_work(const ModelConfig& model, const TensorShard& shard, const BatchShape& shape);

}  // namespace triax
