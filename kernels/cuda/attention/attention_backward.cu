// SPDX-License-Identifier: Apache-2.0
// Attention's backward pass (FlashAttention-2: Dao 2023). One kernel makes dq, with a tile of
// queries per CUDA block; another makes dk and dv, with a tile of keys per block. Both recompute
// the scores, and every sum belongs to one thread, so the order of additions is fixed.
#include "kernels/cuda/attention/attention_dropout.hpp"
#include "kernels/cuda/attention/attention_gradient.hpp"
#include "kernels/cuda/cudnn/attention_cudnn.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {
namespace {

// delta (B, H, T): sum over D of dout * out.
template <class T, bool allowed>
struct RowSums {
  static constexpr int max_threads = 256;
  AttentionTask task;
  float* delta;  // (B, H, T)
  Heads<T> dout, out;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t thread = block.index_x() * block.threads_x() + block.thread_x();
    const std::int64_t row = thread / row_sum_lanes;
    const bool exists = row < task.batch * task.heads * task.length;
    const std::int64_t head = row / task.length;
    const auto offset = [&](const Heads<T>& of) {
      return of.of(head / task.heads, head % task.heads) + row % task.length * of.row_stride;
    };
    float sum = 0.0F;
    if (exists) {
      const T* a = offset(dout);
      const T* b = offset(out);
      // The loop has one or two iterations; unrolling it would cost registers for more pieces.
      TRIAX_ROLLED
      for (int d = static_cast<int>(thread % row_sum_lanes) * wide<T>; d < task.head_size;
           d += row_sum_lanes * wide<T>) {
        float x[wide<T>], y[wide<T>];
        load_piece<allowed>(x, a + d, task.head_size - d);
        load_piece<allowed>(y, b + d, task.head_size - d);
        TRIAX_UNROLL
        for (int i = 0; i < wide<T>; ++i) sum += x[i] * y[i];
      }
    }
    TRIAX_UNROLL
    for (int mask = row_sum_lanes / 2; mask > 0; mask /= 2) sum += block.shuffle_xor(sum, mask);
    if (exists && thread % row_sum_lanes == 0) delta[row] = sum;
  }
};

template <class T, int width, Limits limits>
struct QueryGradient {
  static constexpr AttentionCut cut = query_gradient_cut(width);
  static constexpr int max_threads = cut.threads();
  static constexpr int strips = cut.strips;
  using Held = TilePair<cut.held(), width, max_threads, T>;
  using Walked = TilePair<cut.walked, width, max_threads, T>;
  GradientOperands<T> of;
  Heads<T> dq;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const AttentionTask& task = of.task;
    const AttentionPlace at = query_tile(block, task, cut.held());
    const int i0 = at.tile * cut.held();
    const int own = block.thread_x() / warp * cut.held_by_warp();
    const RowRange own_rows{i0 + own, i0 + own + cut.held_by_warp()};
    const auto window = window_of<limits>(task, at.b);
    const HeadRows<T> keys = rows_of_head(task, of.k, at.b, at.h / task.group());
    const HeadRows<T> values = rows_of_head(task, of.v, at.b, at.h / task.group());
    T* shared = block.shared<T>();
    const Held held(shared);  // queries and dout
    held.begin(block, rows_of_head(task, of.q, at.b, at.h), rows_of_head(task, of.dout, at.b, at.h),
               i0);
    T* walked = shared + 2 * cut.held() * width;  // keys and values, double-buffered
    const int begin = window.first_tile(i0, cut.walked);
    Walked(walked).begin(block, keys, values, begin);

    float lse2[strips][2], delta[strips][2];
    load_statistics(block, at, i0 + own, lse2, delta);
    float sums[strips][width / 8][4] = {};
    const int end = i0 + cut.held() < task.length ? i0 + cut.held() : task.length;
    for (int j0 = begin, turn = 0; j0 < end; j0 += cut.walked, turn ^= 1) {
      const Walked now(walked + turn * (2 * cut.walked * width));
      finish_copies(block);
      block.sync();  // this tile has arrived, and no thread still reads the previous one
      if (j0 + cut.walked < end)
        Walked(walked + (turn ^ 1) * (2 * cut.walked * width))
            .begin(block, keys, values, j0 + cut.walked);
      if (!window.sees_some(own_rows, {j0, j0 + cut.walked})) continue;
      float s[strips][cut.walked / 8][4] = {};
      float dp[strips][cut.walked / 8][4] = {};
      add_row_products<T, width>(block, s, held.first + own * width, now.first);
      add_row_products<T, width>(block, dp, held.second + own * width, now.second);
      score_gradient(block, at, own_rows, j0, s, dp, lse2, delta);
      add_score_products<T, width>(block, sums, pack_scores<T>(dp), now.first);
    }
    scale_all(sums, task.scale);
    put_sums<T, width>(block, held.first + own * width, sums);
    block.sync();
    store_rows<cut.held(), width, max_threads>(block, rows_of_head(task, dq, at.b, at.h),
                                               held.first, i0);
  }

  TRIAX_DEVICE void load_statistics(const Block& block, const AttentionPlace& at, int first,
                                    float (&lse2)[strips][2], float (&delta)[strips][2]) const {
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int row = first + strip * 16 + half * 8 + block.thread_x() % warp / 4;
        const bool exists = row < of.task.length;
        lse2[strip][half] = exists ? of.lse.of(at.b, at.h)[row] * log2_e : 0.0F;
        delta[strip][half] = exists ? of.delta.of(at.b, at.h)[row] : 0.0F;
      }
    }
  }

  template <int columns>
  TRIAX_DEVICE void score_gradient(const Block& block, const AttentionPlace& at,
                                   const RowRange& own_rows, int j0, float (&s)[strips][columns][4],
                                   float (&dp)[strips][columns][4], const float (&lse2)[strips][2],
                                   const float (&delta)[strips][2]) const {
    const auto window = window_of<limits>(of.task, at.b);
    const int i0 = own_rows.begin;
    const int lane = block.thread_x() % warp;
    if (of.task.dropout.drops()) {
      const auto bits = kept_along_rows<strips, columns>(block, [&](int row, int column) {
        return keeps_four(of.task, at.b, at.h, i0 + row, j0 + column);
      });
      drop_scores(dp, bits, of.task.dropout.factor);
    }
    if constexpr (soft_capped(limits)) cap_products(of.task, s);
    if (window.hides_some(own_rows, {j0, j0 + cut.walked}))
      mask_keys<limits>(lane, s, window, i0, j0);
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int n = 0; n < columns; ++n) {
        TRIAX_UNROLL
        for (int i = 0; i < 4; ++i)
          of.template score_gradient<limits>(s[strip][n][i], dp[strip][n][i], lse2[strip][i / 2],
                                             delta[strip][i / 2]);
      }
    }
  }
};

void sum_rows(const Stream& stream, const AttentionTask& task, const Tensor& delta,
              const Tensor& dout, const Tensor& out) {
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    const Heads<T> a = heads_of<T>(dout);
    const Heads<T> b = heads_of<T>(out);
    const bool pieces = aligned(a) && aligned(b) && task.head_size % wide<T> == 0;
    with_bool(pieces, [&]<bool allowed>(std::bool_constant<allowed>) {
      launch(stream, attention_row_sums_shape(delta.elements()),
             RowSums<T, allowed>{task, delta.as<float>(), a, b});
    });
  });
}

}  // namespace

void attention_backward(const Stream& stream, const Tensor& dq, const Tensor& dk, const Tensor& dv,
                        const Tensor& dout, const Tensor& out, const Tensor& lse, const Tensor& q,
                        const Tensor& k, const Tensor& v, const AttentionOptions& options,
                        Arena& scratch) {
  const auto n = triax::attention::sizes_of(q, k, v, options);
  constexpr MemorySpace device = MemorySpace::device;
  triax::attention::check_views({&dq, &dout, &out, &q}, q.shape(), q.dtype(), device);
  triax::attention::check_views({&dk, &dv, &k, &v}, k.shape(), q.dtype(), device);
  triax::attention::check_views({&lse}, {n.batch, n.heads, n.length}, DType::f32, device);
  const ArenaScope scope(scratch);
  const Tensor delta = triax::attention::take_delta(scratch, n.batch, n.heads, n.length);
  if (cudnn_attention_backward(stream, {q, k, v, out, lse, dout, dq, dk, dv, delta}, options,
                               scratch))
    return;
  const AttentionTask task(n, options, q.dtype());
  sum_rows(stream, task, delta, dout, out);
  const bool done = on_tensor_cores(
      task, {&q, &k, &v, &dout, &dq, &dk, &dv}, [&]<class T, int width>(Type<T>, Width<width>) {
        with_limits(task, [&]<Limits limits>(Limited<limits>) {
          launch(stream, attention_query_gradient_shape(n.batch * n.heads, n.length, width),
                 QueryGradient<T, width, limits>{
                     gradient_operands<T>(task, dout, q, k, v, lse, delta), heads_of<T>(dq)});
        });
        key_gradient(stream, task, dk, dv, dout, delta, lse, q, k, v);
      });
  if (!done) plain_attention_backward(stream, task, dq, dk, dv, dout, delta, lse, q, k, v);
}

}  // namespace triax::cuda
