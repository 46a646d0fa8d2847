// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention of bfloat16 on processors that multiply pairs of it
// (kernels/matmul/tile_gemm_bf16.hpp). Probabilities and gradients of scores are rounded to
// bfloat16 before they are multiplied, as on a GPU's tensor cores; sums and the softmax are
// float32.
#include "kernels/attention/pair_passes.hpp"
#include "kernels/attention/pairs.hpp"
#include "kernels/attention/steps.hpp"

namespace triax::attention {

/// One buffer of 32-bit words per worker, in float32 memory.
class WordScratch {
 public:
  WordScratch(Arena& arena, std::int64_t workers, std::string_view name, std::int64_t words)
      : memory_(arena, workers, name, words) {}
  std::uint32_t* words(std::int64_t worker) const {
    return reinterpret_cast<std::uint32_t*>(memory_.of(worker));
  }

 private:
  Scratch memory_;
};

/// T rounded up to whole tiles.
constexpr std::int64_t whole_tiles(std::int64_t length) {
  return (length + tile_size - 1) / tile_size * tile_size;
}

struct PairForwardScratch {
  PairForwardScratch(Arena& arena, std::int64_t workers, std::int64_t length,
                     std::int64_t head_size)
      : keys(arena, workers, "attention keys", whole_tiles(length) * head_size / 2),
        values(arena, workers, "attention values",
               (length + 1) / 2 * whole_pair_columns(head_size)),
        probability(arena, workers, "attention probabilities", tile_size * tile_size / 2),
        out(arena, workers, "attention out tile", tile_size * whole_pair_columns(head_size)),
        scores(arena, workers, "attention scores", tile_size * tile_size),
        keep(arena, workers, "attention dropout", tile_size * tile_size),
        largest(arena, workers, "attention maxima", tile_size),
        sum(arena, workers, "attention sums", tile_size * widest_vector) {}
  WordScratch keys;         // (tiles of keys, D / 2, tile_size): transposed
  WordScratch values;       // (T / 2, width): pairs of rows
  WordScratch probability;  // (tile_size, tile_size / 2): pairs along rows
  Scratch out, scores, keep, largest, sum;
};

struct PairBackwardScratch {
  PairBackwardScratch(Arena& arena, std::int64_t workers, std::int64_t length,
                      std::int64_t head_size)
      : query(arena, workers, "attention queries",
              (length + 1) / 2 * whole_pair_columns(head_size)),
        dout(arena, workers, "attention dout", (length + 1) / 2 * whole_pair_columns(head_size)),
        key(arena, workers, "attention key tile", tile_size / 2 * whole_pair_columns(head_size)),
        key_t(arena, workers, "attention key tile transposed", tile_size * head_size / 2),
        value_t(arena, workers, "attention value tile transposed", tile_size * head_size / 2),
        probability_pairs(arena, workers, "attention probabilities", tile_size * tile_size / 2),
        dscore_pairs(arena, workers, "attention dscores by column", tile_size * tile_size / 2),
        dscore_rows(arena, workers, "attention dscores by row", tile_size * tile_size / 2),
        delta(arena, workers, "attention delta", length),
        dquery(arena, workers, "attention dq", length * whole_pair_columns(head_size)),
        dkey_sum(arena, workers, "attention dk", length * whole_pair_columns(head_size)),
        dvalue_sum(arena, workers, "attention dv", length * whole_pair_columns(head_size)),
        dkey(arena, workers, "attention dk tile", tile_size * whole_pair_columns(head_size)),
        dvalue(arena, workers, "attention dv tile", tile_size * whole_pair_columns(head_size)),
        probability(arena, workers, "attention scores", tile_size * tile_size),
        dscore(arena, workers, "attention dscores", tile_size * tile_size),
        keep(arena, workers, "attention dropout", tile_size * tile_size) {}
  WordScratch query, dout;                      // (T / 2, width): pairs of rows
  WordScratch key;                              // (tile_size / 2, width): pairs of rows
  WordScratch key_t, value_t;                   // (D / 2, tile_size): transposed
  WordScratch probability_pairs, dscore_pairs;  // (tile_size / 2, tile_size): pairs of rows
  WordScratch dscore_rows;                      // (tile_size, tile_size / 2): pairs along rows
  Scratch delta, dquery, dkey_sum, dvalue_sum, dkey, dvalue, probability, dscore, keep;
};

/// True if these heads can use products of bfloat16 pairs.
inline bool pairs_possible(const Sizes& n, std::initializer_list<const Tensor*> heads) {
  return (*heads.begin())->dtype() == DType::bf16 && in_words(n, heads) && has_pair_products();
}

}  // namespace triax::attention
