// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>

#include "kernels/attention/pair_passes.hpp"
#include "kernels/attention/steps.hpp"
#include "kernels/attention/work.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/matmul/tile_gemm_bf16.hpp"

namespace triax {
namespace attention {
namespace {

// E is the type of q, k, v and out.
template <class E>
struct Forward {
  Sizes n;
  AttentionOptions options;
  Tensor out, lse, q, k, v;
  ForwardScratch scratch;

  void operator()(std::int64_t worker, std::int64_t item) const {
    const std::int64_t b = item / n.heads;
    const std::int64_t h = item % n.heads;
    const HeadView<E> key = head_of<E>(k, b, h / n.group());
    for (std::int64_t j0 = 0; j0 < n.length; j0 += tile_size)
      pack_transposed(scratch.keys.of(worker) + j0 * n.head_size, key, j0,
                      std::min(tile_size, n.length - j0), n.head_size);
    pack_rows(scratch.values.of(worker), width_of(n), head_of<E>(v, b, h / n.group()), 0, n.length,
              n.head_size, 1.0F);
    for (std::int64_t i0 = 0; i0 < n.length; i0 += tile_size) query_tile(worker, b, h, i0);
  }

  void query_tile(std::int64_t worker, std::int64_t b, std::int64_t h, std::int64_t i0) const {
    const std::int64_t rows = std::min(tile_size, n.length - i0);
    const OnlineSoftmax state{scratch.largest.of(worker), scratch.sum.of(worker)};
    reset(state, rows);
    pack_rows(scratch.query.of(worker), width_of(n), head_of<E>(q, b, h), i0, rows, n.head_size,
              options.scale);
    const Sight sight(n, options, b);
    const std::int64_t first = sight.first_key_tile(i0);
    for (std::int64_t j0 = first; j0 <= i0; j0 += tile_size) {
      float* scores = scratch.scores.of(worker);
      const TileMask mask = sight.mask(i0, j0);
      tile_product({.rows = rows,
                    .columns = tile_size,
                    .depth = n.head_size,
                    .a = scratch.query.of(worker),
                    .a_row_stride = width_of(n),
                    .a_depth_stride = 1,
                    .b = scratch.keys.of(worker) + j0 * n.head_size,
                    .b_stride = tile_size,
                    .c = scores,
                    .c_stride = tile_size,
                    .triangle = mask.diagonal ? Triangle::c_lower : Triangle::none});
      // `query` is already scaled.
      const float scale = mask_scores(scores, 1.0F, options.soft_cap, mask, rows);
      softmax_step(scores, scale, state, j0 > first ? scratch.out.of(worker) : nullptr, width_of(n),
                   rows);
      const float* keep = fill_keep(scratch.keep.of(worker), options, n, b, h, i0, j0);
      if (keep != nullptr) multiply_tile(scores, keep, rows);
      tile_product({.rows = rows,
                    .columns = n.head_size,
                    .depth = std::min(tile_size, n.length - j0),
                    .a = scores,
                    .a_row_stride = tile_size,
                    .a_depth_stride = 1,
                    .b = scratch.values.of(worker) + j0 * width_of(n),
                    .b_stride = width_of(n),
                    .c = scratch.out.of(worker),
                    .c_stride = width_of(n),
                    .accumulate = j0 > first,
                    .triangle = mask.triangle()});
    }
    finish_rows(head_of<E>(out, b, h), lse_of(lse, b, h), i0, rows, state, scratch.out.of(worker),
                width_of(n), n.head_size);
  }
};

}  // namespace
}  // namespace attention

void attention_forward(const Stream& stream, const Tensor& out, const Tensor& lse, const Tensor& q,
                       const Tensor& k, const Tensor& v, const AttentionOptions& options,
                       Arena& scratch) {
  if (on_device(stream))
    return cuda::attention_forward(stream, out, lse, q, k, v, options, scratch);
  check(stream.space() == MemorySpace::host, "attention of the host on a stream elsewhere");
  const attention::Sizes n = attention::sizes_of(q, k, v, options);
  attention::check_views({&out, &q}, q.shape(), q.dtype(), MemorySpace::host);
  attention::check_views({&k, &v}, k.shape(), q.dtype(), MemorySpace::host);
  attention::check_views({&lse}, {n.batch, n.heads, n.length}, DType::f32, MemorySpace::host);
  attention::check_positions(options, n, MemorySpace::host);
  const ArenaScope scope(scratch);
  if (q.dtype() == DType::bf16 && pair_products_pay() &&
      attention::pair_forward(n, out, lse, q, k, v, options, scratch))
    return;
  const attention::ForwardScratch tiles(scratch, attention::workers_for(n.batch * n.heads),
                                        n.length, n.head_size);
  with_type(q.dtype(), [&]<class E>(Type<E>) {
    const attention::Forward<E> forward{n, options, out, lse, q, k, v, tiles};
    attention::for_each_item(n.batch * n.heads, std::cref(forward));
  });
}

}  // namespace triax
