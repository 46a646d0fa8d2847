#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/attention/bf16.hpp"
#include "kernels/attention/steps.hpp"
#include "kernels/attention/work.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax {
namespace attention {
namespace {

// E: the type of all but lse.
template <class E>
struct Backward {
  Sizes n;
  AttentionOptions options;
  Tensor dq, dk, dv, dout, out, lse, q, k, v;
  BackwardScratch scratch;

  // A key head with all query heads that read it: nobody else writes its dk and dv.
  void operator()(std::int64_t worker, std::int64_t item) const {
    const std::int64_t b = item / n.key_heads;
    const std::int64_t key_head = item % n.key_heads;
    for (std::int64_t h = key_head * n.group(); h < (key_head + 1) * n.group(); ++h) {
      pack_rows(scratch.query.of(worker), width_of(n), head_of<E>(q, b, h), 0, n.length,
                n.head_size, options.scale);
      pack_rows(scratch.dout.of(worker), width_of(n), head_of<E>(dout, b, h), 0, n.length,
                n.head_size, 1.0F);
      row_products(scratch.delta.of(worker), head_of<E>(dout, b, h), head_of<E>(out, b, h),
                   n.length, n.head_size);
      for (std::int64_t j0 = 0; j0 < n.length; j0 += tile_size) key_tile(worker, b, h, j0);
    }
  }

  void key_tile(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t j0) const {
    const std::int64_t keys = std::min(tile_size, n.length - j0);
    const HeadView<E> key = head_of<E>(k, b, h / n.group());
    pack_rows(scratch.key.of(worker), width_of(n), key, j0, keys, n.head_size, options.scale);
    pack_transposed(scratch.key_t.of(worker), key, j0, keys, n.head_size);
    pack_transposed(scratch.value_t.of(worker), head_of<E>(v, b, h / n.group()), j0, keys,
                    n.head_size);
    for (std::int64_t i0 = j0; i0 < n.length; i0 += tile_size) {
      score_gradient(worker, b, h, i0, j0);
      accumulate(worker, i0, j0, keys);
    }
    // No later keys reach the queries of the diagonal.
    unpack_rows(head_of<E>(dq, b, h), j0, scratch.dquery.of(worker) + j0 * width_of(n), width_of(n),
                keys, n.head_size);
    const std::int64_t reader = h % n.group();
    add_query_head(head_of<E>(dk, b, h / n.group()), scratch.dkey.of(worker),
                   scratch.dkey_sum.of(worker), j0, keys, width_of(n), n, reader);
    add_query_head(head_of<E>(dv, b, h / n.group()), scratch.dvalue.of(worker),
                   scratch.dvalue_sum.of(worker), j0, keys, width_of(n), n, reader);
  }

  // The tile of probabilities again (after dropout), and the gradient of its scores.
  void score_gradient(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t i0,
                      std::int64_t j0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const bool diagonal = i0 == j0;
    float* probability = scratch.probability.of(worker);
    float* dscore = scratch.dscore.of(worker);
    TileProduct product{.rows = rows,
                        .columns = tile_size,
                        .depth = n.head_size,
                        .a = scratch.query.of(worker) + i0 * width_of(n),
                        .a_row_stride = width_of(n),
                        .a_depth_stride = 1,
                        .b = scratch.key_t.of(worker),
                        .b_stride = tile_size,
                        .c = probability,
                        .c_stride = tile_size,
                        .triangle = diagonal ? Triangle::c_lower : Triangle::none};
    tile_product(product);
    product.a = scratch.dout.of(worker) + i0 * width_of(n);
    product.b = scratch.value_t.of(worker);
    product.c = dscore;
    tile_product(product);
    if (diagonal) {
      fill_above_diagonal(probability, rows, -std::numeric_limits<float>::infinity());
      fill_above_diagonal(dscore, rows, 0.0F);
    }
    probabilities(probability, lse_of(lse, b, h) + i0, rows);
    softmax_gradient(dscore, probability,
                     fill_keep(scratch.keep.of(worker), options, n, b, h, i0, j0),
                     scratch.delta.of(worker) + i0, rows);
  }

  // dv += P^T dout, dk += dS^T q, dq += dS k. q and k are scaled already.
  void accumulate(std::int64_t worker, std::int64_t i0, std::int64_t j0, std::int64_t keys) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const bool diagonal = i0 == j0;
    TileProduct product{.rows = keys,
                        .columns = n.head_size,
                        .depth = rows,
                        .a = scratch.probability.of(worker),
                        .a_row_stride = 1,
                        .a_depth_stride = tile_size,
                        .b = scratch.dout.of(worker) + i0 * width_of(n),
                        .b_stride = width_of(n),
                        .c = scratch.dvalue.of(worker),
                        .c_stride = width_of(n),
                        .accumulate = !diagonal,
                        .triangle = diagonal ? Triangle::a_upper : Triangle::none};
    tile_product(product);
    product.a = scratch.dscore.of(worker);
    product.b = scratch.query.of(worker) + i0 * width_of(n);
    product.c = scratch.dkey.of(worker);
    tile_product(product);
    tile_product({.rows = rows,
                  .columns = n.head_size,
                  .depth = keys,
                  .a = scratch.dscore.of(worker),
                  .a_row_stride = tile_size,
                  .a_depth_stride = 1,
                  .b = scratch.key.of(worker),
                  .b_stride = width_of(n),
                  .c = scratch.dquery.of(worker) + i0 * width_of(n),
                  .c_stride = width_of(n),
                  .accumulate = j0 > 0,
                  .triangle = diagonal ? Triangle::a_lower : Triangle::none});
  }
};

}  // namespace
}  // namespace attention

void attention_backward(const Stream& stream, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                        const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                        const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        Arena& scratch) {
  if (on_device(stream))
    return cuda::attention_backward(stream, dq, dk, dv, dout, out, lse, q, k, v, options, scratch);
  check(stream.space() == MemorySpace::host, "attention of the host on a stream elsewhere");
  const attention::Sizes n = attention::sizes_of(q, k, v, options);
  attention::check_views({&dq, &dout, &out, &q}, q.shape(), q.dtype(), MemorySpace::host);
  attention::check_views({&dk, &dv, &k, &v}, k.shape(), q.dtype(), MemorySpace::host);
  attention::check_views({&lse}, {n.batch, n.heads, n.length}, DType::f32, MemorySpace::host);
  const ArenaScope scope(scratch);
  if (attention::pair_backward(n, dq, dk, dv, dout, out, lse, q, k, v, options, scratch)) return;
  const attention::BackwardScratch tiles(scratch, attention::workers_for(n.batch * n.key_heads),
                                         n.length, n.head_size);
  with_type(q.dtype(), [&]<class E>(Type<E>) {
    const attention::Backward<E> backward{n, options, dq, dk, dv, dout, out, lse, q, k, v, tiles};
    attention::for_each_item(n.batch * n.key_heads, std::cref(backward));
  });
}

}  // namespace triax
