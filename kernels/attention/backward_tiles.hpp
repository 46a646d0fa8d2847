// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backward pass of attention: which tiles meet, in which order, and how scores become gradients,
// independent of the code that multiplies tiles. A Pass holds the tensors, the scratch memory and
// Element, the type of all tensors but lse. Its functions:
//   scale()                              factor of scores, dq and dk; 1 if the operands have it
//   width()                              floats per row of dquery, dkey and dvalue
//   take_queries(worker, b, h)           loads a head's queries and dout, all rows
//   take_keys(worker, b, h, j0, keys)    loads a tile of keys and values
//   scores(worker, b, h, i0, j0)         probability = scores, dscore = dout V^T
//   take_scores(worker, rows)            converts the final two for accumulate()
//   accumulate(worker, sight, i0, j0, keys)  dv += P^T dout, dk += dS^T q, dq += dS k, scaled
#include <algorithm>

#include "kernels/attention/steps.hpp"
#include "kernels/attention/work.hpp"

namespace triax::attention {

/// Recomputes a tile of probabilities (after dropout) and the gradient of its scores before the
/// cap.
template <class Pass>
void score_gradient(const Pass& pass, std::int64_t worker, const Sight& sight, std::int64_t b,
                    std::int64_t h, std::int64_t i0, std::int64_t j0) {
  const Sizes& n = pass.n;
  const auto& scratch = pass.scratch;
  const std::int64_t rows = std::min(tile_size, n.length - i0);
  float* probability = scratch.probability.of(worker);
  float* dscore = scratch.dscore.of(worker);
  pass.scores(worker, b, h, i0, j0);
  const TileMask mask = sight.mask(i0, j0);
  const float* lse = lse_of(pass.lse, b, h) + i0;
  const float* delta = scratch.delta.of(worker) + i0;
  const float* keep = fill_keep(scratch.keep.of(worker), pass.options, n, b, h, i0, j0);
  if (const float cap = pass.options.soft_cap; cap > 0.0F) {
    capped_gradient(dscore, probability, pass.scale(), cap, lse, keep, delta, rows);
    if (mask.hides(rows)) {
      fill_hidden(probability, rows, mask, 0.0F);
      fill_hidden(dscore, rows, mask, 0.0F);
    }
  } else {
    const float scale = mask_scores(probability, pass.scale(), 0.0F, mask, rows);
    if (mask.hides(rows)) fill_hidden(dscore, rows, mask, 0.0F);
    probabilities(probability, scale, lse, rows);
    softmax_gradient(dscore, probability, keep, delta, rows);
  }
  pass.take_scores(worker, rows);
}

template <class Pass>
void key_tile_backward(const Pass& pass, std::int64_t worker, std::int64_t b, std::int64_t h,
                       std::int64_t j0) {
  using E = typename Pass::Element;
  const Sizes& n = pass.n;
  const auto& scratch = pass.scratch;
  const std::int64_t keys = std::min(tile_size, n.length - j0);
  const std::int64_t key_head = h / n.group();
  const std::int64_t width = pass.width();
  pass.take_keys(worker, b, h, j0, keys);
  const Sight sight(n, pass.options, b);
  for (std::int64_t i0 = j0; sight.sees_some(i0, j0, keys); i0 += tile_size) {
    score_gradient(pass, worker, sight, b, h, i0, j0);
    pass.accumulate(worker, sight, i0, j0, keys);
  }
  // Queries on the diagonal see no later keys: their dq is complete.
  unpack_rows(head_of<E>(pass.dq, b, h), j0, scratch.dquery.of(worker) + j0 * width, width, keys,
              n.head_size, pass.scale());
  const std::int64_t reader = h % n.group();
  add_query_head(head_of<E>(pass.dk, b, key_head), scratch.dkey.of(worker),
                 scratch.dkey_sum.of(worker), j0, keys, width, n, reader, pass.scale());
  add_query_head(head_of<E>(pass.dv, b, key_head), scratch.dvalue.of(worker),
                 scratch.dvalue_sum.of(worker), j0, keys, width, n, reader, 1.0F);
}

/// Backward pass of one key head and all query heads that read it: no other worker writes its dk
/// and dv.
template <class Pass>
void key_head_backward(const Pass& pass, std::int64_t worker, std::int64_t item) {
  using E = typename Pass::Element;
  const Sizes& n = pass.n;
  const std::int64_t b = item / n.key_heads;
  const std::int64_t key_head = item % n.key_heads;
  for (std::int64_t h = key_head * n.group(); h < (key_head + 1) * n.group(); ++h) {
    pass.take_queries(worker, b, h);
    row_products(pass.scratch.delta.of(worker), head_of<E>(pass.dout, b, h),
                 head_of<E>(pass.out, b, h), n.length, n.head_size);
    for (std::int64_t j0 = 0; j0 < n.length; j0 += tile_size)
      key_tile_backward(pass, worker, b, h, j0);
  }
}

/// The whole backward pass; key heads are divided over the rank's threads.
template <class Pass>
void run_backward(const Pass& pass) {
  for_each_item(pass.n.batch * pass.n.key_heads, [&](std::int64_t worker, std::int64_t item) {
    key_head_backward(pass, worker, item);
  });
}

}  // namespace triax::attention
