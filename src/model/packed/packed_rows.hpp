// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of several sequences over a paged KV cache, for inference. Every row is computed so that its
// bits do not depend on the others. Templates, since src/model/context.hpp lies above this room.
#include <span>

#include "kernels/attention/paged/paged_cache.hpp"

namespace triax {

struct PackedRows {
  Tensor positions;  // (rows) int32
  std::span<const PagedChunk> chunks;
  std::int64_t page_tokens = 0;
  Tensor cache;  // of the layer: paged_cache_shape; the forward pass adds the rows' keys and values
};

/// A Context whose shape is packed_shape().
template <class Context>
struct WithPackedRows : Context {
  PackedRows packed;
};

/// Shape of packed rows, a batch of one sequence, from texts of up to `context` tokens. A negative
/// `past` marks it.
template <class BatchShape>
BatchShape packed_shape(BatchShape rows, std::int64_t context) {
  rows.past = -context;
  return rows;
}
/// Longest text of packed rows; 0: the shape is another.
template <class BatchShape>
std::int64_t packed_context(const BatchShape& shape) {
  return shape.past < 0 ? -shape.past : 0;
}
/// The packed rows of a call; null: it has none.
template <class Context>
const PackedRows* packed_rows(const Context& ctx) {
  return packed_context(ctx.shape) > 0 ? &static_cast<const WithPackedRows<Context>&>(ctx).packed
                                       : nullptr;
}

}  // namespace triax
