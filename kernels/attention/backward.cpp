// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/attention/backward_tiles.hpp"
#include "kernels/attention/pair_passes.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"

namespace triax {
namespace attention {
namespace {

template <class E>
struct Backward {
  using Element = E;
  Sizes n;
  AttentionOptions options;
  Tensor dq, dk, dv, dout, out, lse, q, k, v;
  BackwardScratch scratch;

  float scale() const { return 1.0F; }
  std::int64_t width() const { return width_of(n); }

  void take_queries(std::int64_t worker, std::int64_t b, std::int64_t h) const {
    pack_rows(scratch.query.of(worker), width(), head_of<E>(q, b, h), 0, n.length, n.head_size,
              options.scale);
    pack_rows(scratch.dout.of(worker), width(), head_of<E>(dout, b, h), 0, n.length, n.head_size,
              1.0F);
  }

  void take_keys(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t j0,
                 std::int64_t keys) const {
    const HeadView<E> key = head_of<E>(k, b, h / n.group());
    pack_rows(scratch.key.of(worker), width(), key, j0, keys, n.head_size, options.scale);
    pack_transposed(scratch.key_t.of(worker), key, j0, keys, n.head_size);
    pack_transposed(scratch.value_t.of(worker), head_of<E>(v, b, h / n.group()), j0, keys,
                    n.head_size);
  }

  void scores(std::int64_t worker, std::int64_t, std::int64_t, std::int64_t i0,
              std::int64_t j0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    TileProduct product{.rows = rows,
                        .columns = tile_size,
                        .depth = n.head_size,
                        .a = scratch.query.of(worker) + i0 * width(),
                        .a_row_stride = width(),
                        .a_depth_stride = 1,
                        .b = scratch.key_t.of(worker),
                        .b_stride = tile_size,
                        .c = scratch.probability.of(worker),
                        .c_stride = tile_size,
                        .triangle = i0 == j0 ? Triangle::c_lower : Triangle::none};
    tile_product(product);
    product.a = scratch.dout.of(worker) + i0 * width();
    product.b = scratch.value_t.of(worker);
    product.c = scratch.dscore.of(worker);
    tile_product(product);
  }
  void take_scores(std::int64_t, std::int64_t) const {}  // used as they are

  // `query` and `key` are already scaled.
  void accumulate(std::int64_t worker, const Sight& sight, std::int64_t i0, std::int64_t j0,
                  std::int64_t keys) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const TileMask mask = sight.mask(i0, j0);
    TileProduct product{.rows = keys,
                        .columns = n.head_size,
                        .depth = rows,
                        .a = scratch.probability.of(worker),
                        .a_row_stride = 1,
                        .a_depth_stride = tile_size,
                        .b = scratch.dout.of(worker) + i0 * width(),
                        .b_stride = width(),
                        .c = scratch.dvalue.of(worker),
                        .c_stride = width(),
                        .accumulate = !mask.diagonal,
                        .triangle = mask.transposed()};
    tile_product(product);
    product.a = scratch.dscore.of(worker);
    product.b = scratch.query.of(worker) + i0 * width();
    product.c = scratch.dkey.of(worker);
    tile_product(product);
    tile_product({.rows = rows,
                  .columns = n.head_size,
                  .depth = keys,
                  .a = scratch.dscore.of(worker),
                  .a_row_stride = tile_size,
                  .a_depth_stride = 1,
                  .b = scratch.key.of(worker),
                  .b_stride = width(),
                  .c = scratch.dquery.of(worker) + i0 * width(),
                  .c_stride = width(),
                  .accumulate = j0 > sight.first_key_tile(i0),
                  .triangle = mask.triangle()});
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
  attention::check_positions(options, n, MemorySpace::host);
  const ArenaScope scope(scratch);
  if (q.dtype() == DType::bf16 && pair_products_pay() &&
      attention::pair_backward(n, dq, dk, dv, dout, out, lse, q, k, v, options, scratch))
    return;
  const attention::BackwardScratch tiles(scratch, attention::workers_for(n.batch * n.key_heads),
                                         n.length, n.head_size);
  with_type(q.dtype(), [&]<class E>(Type<E>) {
    attention::run_backward(
        attention::Backward<E>{n, options, dq, dk, dv, dout, out, lse, q, k, v, tiles});
  });
}

}  // namespace triax
