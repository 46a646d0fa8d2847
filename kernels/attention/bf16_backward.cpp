#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/attention/bf16.hpp"

namespace triax::attention {
namespace {

// As Backward of backward.cpp, with its tiles in words of two.
struct BackwardPass {
  Sizes n;
  AttentionOptions options;
  Tensor dq, dk, dv, dout, out, lse, q, k, v;
  PairBackwardScratch scratch;

  std::int64_t width() const { return pair_width(n); }

  void operator()(std::int64_t worker, std::int64_t item) const {
    const std::int64_t b = item / n.key_heads;
    const std::int64_t key_head = item % n.key_heads;
    for (std::int64_t h = key_head * n.group(); h < (key_head + 1) * n.group(); ++h) {
      const HeadView<Bf16> gradient = head_of<Bf16>(dout, b, h);
      pair_rows(scratch.query.words(worker), width(), head_of<Bf16>(q, b, h), 0, n.length,
                n.head_size);
      pair_rows(scratch.dout.words(worker), width(), gradient, 0, n.length, n.head_size);
      row_products(scratch.delta.of(worker), gradient, head_of<Bf16>(out, b, h), n.length,
                   n.head_size);
      for (std::int64_t j0 = 0; j0 < n.length; j0 += tile_size) key_tile(worker, b, h, j0);
    }
  }

  void key_tile(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t j0) const {
    const std::int64_t keys = std::min(tile_size, n.length - j0);
    const std::int64_t key_head = h / n.group();
    const HeadView<Bf16> key = head_of<Bf16>(k, b, key_head);
    pair_rows(scratch.key.words(worker), width(), key, j0, keys, n.head_size);
    transpose_words(scratch.key_t.words(worker), key, j0, keys, n.head_size);
    transpose_words(scratch.value_t.words(worker), head_of<Bf16>(v, b, key_head), j0, keys,
                    n.head_size);
    for (std::int64_t i0 = j0; i0 < n.length; i0 += tile_size) {
      score_gradient(worker, b, h, i0, j0);
      accumulate(worker, i0, j0, keys);
    }
    // No later keys reach the queries of the diagonal.
    unpack_rows(head_of<Bf16>(dq, b, h), j0, scratch.dquery.of(worker) + j0 * width(), width(),
                keys, n.head_size);
    const std::int64_t reader = h % n.group();
    add_query_head(head_of<Bf16>(dk, b, key_head), scratch.dkey.of(worker),
                   scratch.dkey_sum.of(worker), j0, keys, width(), n, reader);
    add_query_head(head_of<Bf16>(dv, b, key_head), scratch.dvalue.of(worker),
                   scratch.dvalue_sum.of(worker), j0, keys, width(), n, reader);
  }

  // The probabilities again (after dropout) and the gradient of their scores, as words.
  void score_gradient(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t i0,
                      std::int64_t j0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const bool diagonal = i0 == j0;
    float* probability = scratch.probability.of(worker);
    float* dscore = scratch.dscore.of(worker);
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
                        .c = probability,
                        .c_stride = tile_size,
                        .scale = options.scale,
                        .triangle = diagonal ? Triangle::c_lower : Triangle::none};
    pair_product(product);
    product.a = words_of(gradient, i0);
    product.a_row_stride = gradient.stride / 2;
    product.b = scratch.value_t.words(worker);
    product.c = dscore;
    product.scale = 1.0F;
    pair_product(product);
    if (diagonal) {
      fill_above_diagonal(probability, rows, -std::numeric_limits<float>::infinity());
      fill_above_diagonal(dscore, rows, 0.0F);
    }
    probabilities(probability, lse_of(lse, b, h) + i0, rows);
    softmax_gradient(dscore, probability,
                     fill_keep(scratch.keep.of(worker), options, n, b, h, i0, j0),
                     scratch.delta.of(worker) + i0, rows);
    pairs_along_columns(scratch.probability_pairs.words(worker), probability, rows, tile_size);
    pairs_along_columns(scratch.dscore_pairs.words(worker), dscore, rows, tile_size);
    pairs_along_rows(scratch.dscore_rows.words(worker), dscore, rows, tile_size);
  }

  // dv += P^T dout, dk += scale dS^T q, dq += scale dS k.
  void accumulate(std::int64_t worker, std::int64_t i0, std::int64_t j0, std::int64_t keys) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const bool diagonal = i0 == j0;
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
                        .accumulate = !diagonal,
                        .triangle = diagonal ? Triangle::a_upper : Triangle::none};
    pair_product(product);
    product.a = scratch.dscore_pairs.words(worker);
    product.b = scratch.query.words(worker) + i0 / 2 * width();
    product.c = scratch.dkey.of(worker);
    product.scale = options.scale;
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
                  .accumulate = j0 > 0,
                  .scale = options.scale,
                  .triangle = diagonal ? Triangle::a_lower : Triangle::none});
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
  const BackwardPass pass{n, options, dq, dk, dv, dout, out, lse, q, k, v, tiles};
  for_each_item(n.batch * n.key_heads, std::cref(pass));
  return true;
}

}  // namespace triax::attention
