#pragma once
// What both directions of attention on the host share: how the work is handed out, and scratch
// memory.
#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/attention/pack.hpp"
#include "kernels/attention/sizes.hpp"
#include "kernels/base/with_type.hpp"

namespace triax::attention {

/// Floats of a row of a tile.
inline std::int64_t width_of(const Sizes& n) {
  return whole_vectors(n.head_size);
}

/// Head h of sample b. x: (B, T, H, D) of E.
template <class E>
HeadView<E> head_of(const Tensor& x, std::int64_t b, std::int64_t h) {
  return {x.as<E>() + b * x.stride(0) + h * x.stride(2), x.stride(1)};
}

/// The log-sum-exps of head h of sample b. lse: (B, H, T).
float* lse_of(const Tensor& lse, std::int64_t b, std::int64_t h);

/// body(worker, item) for every item below `count`, worker w taking w, w + workers, ...: which item
/// runs where is fixed, and items of one worker run one after another, so that each worker needs
/// one set of buffers.
void for_each_item(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& body);

/// The dropout multipliers of the tile of queries from i0 and keys from j0 into `keep`; null
/// without dropout.
const float* fill_keep(float* keep, const AttentionOptions& options, const Sizes& n, std::int64_t b,
                       std::int64_t h, std::int64_t i0, std::int64_t j0);

/// One buffer a worker.
class Scratch {
 public:
  Scratch(Arena& arena, std::string_view name, std::int64_t floats);
  float* of(std::int64_t worker) const { return data_ + worker * floats_; }

 private:
  float* data_ = nullptr;
  std::int64_t floats_;
};

struct ForwardScratch {
  ForwardScratch(Arena& arena, std::int64_t length, std::int64_t head_size)
      : keys(arena, "attention keys", (length + tile_size - 1) / tile_size * tile_size * head_size),
        values(arena, "attention values", length * whole_vectors(head_size)),
        query(arena, "attention query tile", tile_size * whole_vectors(head_size)),
        out(arena, "attention out tile", tile_size * whole_vectors(head_size)),
        scores(arena, "attention scores", tile_size * tile_size),
        keep(arena, "attention dropout", tile_size * tile_size),
        largest(arena, "attention maxima", tile_size),
        sum(arena, "attention sums", tile_size * widest_vector) {}
  Scratch keys;    // (tiles of keys, D, tile_size), transposed
  Scratch values;  // (T, width)
  Scratch query, out, scores, keep, largest, sum;
};

struct BackwardScratch {
  BackwardScratch(Arena& arena, std::int64_t length, std::int64_t head_size)
      : query(arena, "attention queries", length * whole_vectors(head_size)),
        dout(arena, "attention dout", length * whole_vectors(head_size)),
        delta(arena, "attention delta", length),
        dquery(arena, "attention dq", length * whole_vectors(head_size)),
        dkey_sum(arena, "attention dk", length * whole_vectors(head_size)),
        dvalue_sum(arena, "attention dv", length * whole_vectors(head_size)),
        key(arena, "attention key tile", tile_size * whole_vectors(head_size)),
        key_t(arena, "attention key tile transposed", tile_size * head_size),
        value_t(arena, "attention value tile transposed", tile_size * head_size),
        dkey(arena, "attention dk tile", tile_size * whole_vectors(head_size)),
        dvalue(arena, "attention dv tile", tile_size * whole_vectors(head_size)),
        probability(arena, "attention scores", tile_size * tile_size),
        dscore(arena, "attention dscores", tile_size * tile_size),
        keep(arena, "attention dropout", tile_size * tile_size) {}
  Scratch query, dout;           // (T, width), queries times the scale
  Scratch delta;                 // (T): rows of dout * out summed
  Scratch dquery;                // (T, width): summed over the tiles of keys
  Scratch dkey_sum, dvalue_sum;  // (T, width): summed over the query heads that read a key head
  Scratch key, key_t, value_t, dkey, dvalue, probability, dscore, keep;
};

}  // namespace triax::attention
