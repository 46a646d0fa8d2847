// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of work and scratch memory, shared by both directions of attention on the host.
#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/attention/pack.hpp"
#include "kernels/attention/sizes.hpp"
#include "kernels/base/with_type.hpp"

namespace triax::attention {

/// Floats per row of a tile of a head.
inline std::int64_t width_of(const Sizes& n) {
  return whole_vectors(n.head_size);
}

/// Head h of sample b of x: (B, T, H, D) of type E.
template <class E>
HeadView<E> head_of(const Tensor& x, std::int64_t b, std::int64_t h) {
  return {x.as<E>() + b * x.stride(0) + h * x.stride(2), x.stride(1)};
}

/// Log-sum-exps of head h of sample b. lse: (B, H, T).
float* lse_of(const Tensor& lse, std::int64_t b, std::int64_t h);

/// Number of workers for `items`: one per thread of the rank, at most one per item.
std::int64_t workers_for(std::int64_t items);

/// body(worker, item) for every item below `count`; worker w takes items w, w + workers, ... The
/// assignment is fixed and a worker runs its items one after another, so that each worker needs one
/// set of buffers.
void for_each_item(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body);

/// Writes the dropout multipliers of the tile of queries from i0 and keys from j0 to `keep`. Null
/// without dropout.
const float* fill_keep(float* keep, const AttentionOptions& options, const Sizes& n, std::int64_t b,
                       std::int64_t h, std::int64_t i0, std::int64_t j0);

/// One buffer per worker.
class Scratch {
 public:
  Scratch(Arena& arena, std::int64_t workers, std::string_view name, std::int64_t floats);
  float* of(std::int64_t worker) const { return data_ + worker * floats_; }

 private:
  float* data_ = nullptr;
  std::int64_t floats_;
};

struct ForwardScratch {
  ForwardScratch(Arena& arena, std::int64_t workers, std::int64_t length, std::int64_t head_size)
      : keys(arena, workers, "attention keys",
             (length + tile_size - 1) / tile_size * tile_size * head_size),
        values(arena, workers, "attention values", length * whole_vectors(head_size)),
        query(arena, workers, "attention query tile", tile_size * whole_vectors(head_size)),
        out(arena, workers, "attention out tile", tile_size * whole_vectors(head_size)),
        scores(arena, workers, "attention scores", tile_size * tile_size),
        keep(arena, workers, "attention dropout", tile_size * tile_size),
        largest(arena, workers, "attention maxima", tile_size),
        sum(arena, workers, "attention sums", tile_size * widest_vector) {}
  Scratch keys;    // (tiles of keys, D, tile_size), transposed
  Scratch values;  // (T, width)
  Scratch query, out, scores, keep, largest, sum;
};

struct BackwardScratch {
  BackwardScratch(Arena& arena, std::int64_t workers, std::int64_t length, std::int64_t head_size)
      : query(arena, workers, "attention queries", length * whole_vectors(head_size)),
        dout(arena, workers, "attention dout", length * whole_vectors(head_size)),
        delta(arena, workers, "attention delta", length),
        dquery(arena, workers, "attention dq", length * whole_vectors(head_size)),
        dkey_sum(arena, workers, "attention dk", length * whole_vectors(head_size)),
        dvalue_sum(arena, workers, "attention dv", length * whole_vectors(head_size)),
        key(arena, workers, "attention key tile", tile_size * whole_vectors(head_size)),
        key_t(arena, workers, "attention key tile transposed", tile_size * head_size),
        value_t(arena, workers, "attention value tile transposed", tile_size * head_size),
        dkey(arena, workers, "attention dk tile", tile_size * whole_vectors(head_size)),
        dvalue(arena, workers, "attention dv tile", tile_size * whole_vectors(head_size)),
        probability(arena, workers, "attention scores", tile_size * tile_size),
        dscore(arena, workers, "attention dscores", tile_size * tile_size),
        keep(arena, workers, "attention dropout", tile_size * tile_size) {}
  Scratch query, dout;           // (T, width), queries times the scale
  Scratch delta;                 // (T): dout * out, summed over D
  Scratch dquery;                // (T, width): summed over the tiles of keys
  Scratch dkey_sum, dvalue_sum;  // (T, width): summed over the query heads that read a key head
  Scratch key, key_t, value_t, dkey, dvalue, probability, dscore, keep;
};

}  // namespace triax::attention
