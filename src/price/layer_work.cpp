// SPDX-License-Identifier: Apache-2.0
#include "src/price/layer_work.hpp"

#include "src/model/families/attention_kind.hpp"
#include "src/model/families/families.hpp"

namespace triax {
namespace {

double element_bytes(const BatchShape& shape) {
  return static_cast<double>(size_of(shape.type));
}

}  // namespace

LayerWork block_work(const ModelConfig& model, int block, const TensorShard& shard,
                     const BatchShape& shape) {
  const auto rows = static_cast<double>(shape.rows), local = static_cast<double>(shape.local_rows);
  const double ranks = shard.size, e = model.hidden, d = model.head_size;
  const double q = model.heads * d / ranks, kv = 2.0 * model.kv_heads * d / ranks;
  const bool gated = family_of(model).block.gated();
  const double inner = model.intermediate / ranks;
  LayerWork work;
  work.products = {
      {rows, q + kv, e}, {rows, e, q}, {rows, (gated ? 2.0 : 1.0) * inner, e}, {rows, e, inner}};
  work.attention_flops = 4.0 * rows * q * keys_per_query(model, block, shape.sequence);
  // Two norms and two sums with the residual; rotary positions or biases; the activation.
  const double elements = 10.0 * local * e + rows * (2.0 * (q + kv) + (gated ? 3.0 : 2.0) * inner);
  work.bytes = elements * element_bytes(shape);
  work.kernels = 10;
  return work;
}

LayerWork embedding_work(const ModelConfig& model, const BatchShape& shape) {
  LayerWork work;
  work.bytes = 3.0 * static_cast<double>(shape.rows) * model.hidden * element_bytes(shape);
  work.kernels = 2;
  return work;
}

LayerWork head_work(const ModelConfig& model, const TensorShard& shard, const BatchShape& shape) {
  const auto rows = static_cast<double>(shape.rows);
  const double vocabulary = static_cast<double>(model.vocabulary) / shard.size;
  LayerWork work;
  work.products = {{rows, vocabulary, static_cast<double>(model.hidden)}};
  // Logits are written, read twice for the loss, and replaced by their gradient.
  work.bytes =
      (4.0 * rows * vocabulary + 3.0 * static_cast<double>(shape.local_rows) * model.hidden) *
      element_bytes(shape);
  work.kernels = 6;
  return work;
}

}  // namespace triax
