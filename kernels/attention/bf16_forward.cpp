// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/attention/bf16.hpp"

namespace triax::attention {
namespace {

struct ForwardPass {
  Sizes n;
  AttentionOptions options;
  Tensor out, lse, q, k, v;
  PairForwardScratch scratch;

  void operator()(std::int64_t worker, std::int64_t item) const {
    const std::int64_t b = item / n.heads;
    const std::int64_t h = item % n.heads;
    const PairRegisters registers;
    const HeadView<Bf16> key = head_of<Bf16>(k, b, h / n.group());
    const HeadView<Bf16> value = head_of<Bf16>(v, b, h / n.group());
    for (std::int64_t j0 = 0; j0 < n.length; j0 += tile_size)
      transpose_words(scratch.keys.words(worker) + j0 * (n.head_size / 2), key, j0,
                      std::min(tile_size, n.length - j0), n.head_size);
    pair_rows(scratch.values.words(worker), pair_width(n), value, 0, n.length, n.head_size);
    for (std::int64_t i0 = 0; i0 < n.length; i0 += tile_size) query_tile(worker, b, h, i0);
  }

  void query_tile(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t i0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const OnlineSoftmax state{scratch.largest.of(worker), scratch.sum.of(worker)};
    const HeadView<Bf16> query = head_of<Bf16>(q, b, h);
    reset(state, rows);
    const Sight sight(n, options, b);
    const std::int64_t first = sight.first_key_tile(i0);
    for (std::int64_t j0 = first; j0 <= i0; j0 += tile_size) {
      float* scores = scratch.scores.of(worker);
      const TileMask mask = sight.mask(i0, j0);
      pair_product({.rows = rows,
                    .columns = tile_size,
                    .depth = n.head_size / 2,
                    .a = words_of(query, i0),
                    .a_row_stride = query.stride / 2,
                    .a_depth_stride = 1,
                    .b = scratch.keys.words(worker) + j0 * (n.head_size / 2),
                    .b_stride = tile_size,
                    .c = scores,
                    .c_stride = tile_size,
                    .triangle = mask.diagonal ? Triangle::c_lower : Triangle::none});
      const float scale = mask_scores(scores, options.scale, options.soft_cap, mask, rows);
      softmax_step(scores, scale, state, j0 > first ? scratch.out.of(worker) : nullptr,
                   pair_width(n), rows);
      const float* keep = fill_keep(scratch.keep.of(worker), options, n, b, h, i0, j0);
      if (keep != nullptr) multiply_tile(scores, keep, rows);
      pairs_along_rows(scratch.probability.words(worker), scores, rows, tile_size);
      pair_product({.rows = rows,
                    .columns = n.head_size,
                    .depth = (std::min(tile_size, n.length - j0) + 1) / 2,
                    .a = scratch.probability.words(worker),
                    .a_row_stride = tile_size / 2,
                    .a_depth_stride = 1,
                    .b = scratch.values.words(worker) + j0 / 2 * pair_width(n),
                    .b_stride = pair_width(n),
                    .c = scratch.out.of(worker),
                    .c_stride = pair_width(n),
                    .accumulate = j0 > first,
                    .triangle = mask.triangle()});
    }
    finish_rows(head_of<Bf16>(out, b, h), lse_of(lse, b, h), i0, rows, state,
                scratch.out.of(worker), pair_width(n), n.head_size);
  }
};

}  // namespace

bool pair_forward(const Sizes& n, const Tensor& out, const Tensor& lse, const Tensor& q,
                  const Tensor& k, const Tensor& v, const AttentionOptions& options,
                  Arena& scratch) {
  if (!pairs_possible(n, {&q, &k, &v})) return false;
  const PairForwardScratch tiles(scratch, workers_for(n.batch * n.heads), n.length, n.head_size);
  const ForwardPass pass{n, options, out, lse, q, k, v, tiles};
  for_each_item(n.batch * n.heads, std::cref(pass));
  return true;
}

}  // namespace triax::attention
