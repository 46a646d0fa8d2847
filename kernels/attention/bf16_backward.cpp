// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/attention/backward_tiles.hpp"
#include "kernels/attention/bf16.hpp"

namespace triax::attention {
namespace {

// The backward pass with tiles of bfloat16 pairs, two per 32-bit word.
struct PairBackward {
  using Element = Bf16;
  Sizes n;
  AttentionOptions options;
  Tensor dq, dk, dv, dout, out, lse, q, k, v;
  PairBackwardScratch scratch;

  float scale() const { return options.scale; }
  std::int64_t width() const { return pair_width(n); }

  void take_queries(std::int64_t worker, std::int64_t b, std::int64_t h) const {
    pair_rows(scratch.query.words(worker), width(), head_of<Bf16>(q, b, h), 0, n.length,
              n.head_size);
    pair_rows(scratch.dout.words(worker), width(), head_of<Bf16>(dout, b, h), 0, n.length,
              n.head_size);
  }

  void take_keys(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t j0,
                 std::int64_t keys) const {
    const HeadView<Bf16> key = head_of<Bf16>(k, b, h / n.group());
    pair_rows(scratch.key.words(worker), width(), key, j0, keys, n.head_size);
    transpose_words(scratch.key_t.words(worker), key, j0, keys, n.head_size);
    transpose_words(scratch.value_t.words(worker), head_of<Bf16>(v, b, h / n.group()), j0, keys,
                    n.head_size);
  }

  // Reads queries and dout in place: the words of a row are pairs already.
  void scores(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t i0,
              std::int64_t j0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const HeadView<Bf16> query = head_of<Bf16>(q, b, h);
    const HeadView<Bf16> gradient = head_of<Bf16>(dout, b, h);
    PairProduct product{.rows = rows,
                        .columns = tile_size,
                        .depth = n.head_size / 2,
                        .a = words_of(query, i0),
                        .a_row_stride = query.stride / 2,
                        .a_depth_stride = 1,
                        .b = scratch.key_t.words(worker),
                        .b_stride = tile_size,
                        .c = scratch.probability.of(worker),
                        .c_stride = tile_size,
                        .triangle = i0 == j0 ? Triangle::c_lower : Triangle::none};
    pair_product(product);
    product.a = words_of(gradient, i0);
    product.a_row_stride = gradient.stride / 2;
    product.b = scratch.value_t.words(worker);
    product.c = scratch.dscore.of(worker);
    pair_product(product);
  }

  // Rounds the tiles to words of bfloat16 pairs.
  void take_scores(std::int64_t worker, std::int64_t rows) const {
    const float* probability = scratch.probability.of(worker);
    const float* dscore = scratch.dscore.of(worker);
    pairs_along_columns(scratch.probability_pairs.words(worker), probability, rows, tile_size);
    pairs_along_columns(scratch.dscore_pairs.words(worker), dscore, rows, tile_size);
    pairs_along_rows(scratch.dscore_rows.words(worker), dscore, rows, tile_size);
  }

  void accumulate(std::int64_t worker, const Sight& sight, std::int64_t i0, std::int64_t j0,
                  std::int64_t keys) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const TileMask mask = sight.mask(i0, j0);
    PairProduct product{.rows = keys,
                        .columns = n.head_size,
                        .depth = (rows + 1) / 2,
                        .a = scratch.probability_pairs.words(worker),
                        .a_row_stride = 1,
                        .a_depth_stride = tile_size,
                        .b = scratch.dout.words(worker) + i0 / 2 * width(),
                        .b_stride = width(),
                        .c = scratch.dvalue.of(worker),
                        .c_stride = width(),
                        .accumulate = !mask.diagonal,
                        .triangle = mask.transposed()};
    pair_product(product);
    product.a = scratch.dscore_pairs.words(worker);
    product.b = scratch.query.words(worker) + i0 / 2 * width();
    product.c = scratch.dkey.of(worker);
    pair_product(product);
    pair_product({.rows = rows,
                  .columns = n.head_size,
                  .depth = (keys + 1) / 2,
                  .a = scratch.dscore_rows.words(worker),
                  .a_row_stride = tile_size / 2,
                  .a_depth_stride = 1,
                  .b = scratch.key.words(worker),
                  .b_stride = width(),
                  .c = scratch.dquery.of(worker) + i0 * width(),
                  .c_stride = width(),
                  .accumulate = j0 > sight.first_key_tile(i0),
                  .triangle = mask.triangle()});
  }
};

}  // namespace

bool pair_backward(const Sizes& n, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                   const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                   const Tensor& k, const Tensor& v, const AttentionOptions& options,
                   Arena& scratch) {
  if (!pairs_possible(n, {&q, &k, &v, &dout})) return false;
  const PairBackwardScratch tiles(scratch, workers_for(n.batch * n.key_heads), n.length,
                                  n.head_size);
  const PairBackward pass{n, options, dq, dk, dv, dout, out, lse, q, k, v, tiles};
  for_each_item(n.batch * n.key_heads, [&](std::int64_t worker, std::int64_t item) {
    const PairRegisters registers;
    key_head_backward(pass, worker, item);
  });
  return true;
}

}  // namespace triax::attention
