// SPDX-License-Identifier: Apache-2.0
// Attention's forward pass (FlashAttention-2: Dao 2023).
#include <cmath>

#include "kernels/cuda/attention/attention_dropout.hpp"
#include "kernels/cuda/attention/attention_tile.hpp"
#include "kernels/cuda/cudnn/attention_cudnn.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {
namespace {

// Running softmax of the rows held by a warp, in powers of two. limited: a row may see no key of a
// tile.
template <int strips, bool limited>
struct OnlineSoftmax {
  float largest[strips][2];  // largest score so far
  float sum[strips][2];      // over this lane's columns

  TRIAX_DEVICE void reset() {
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int half = 0; half < 2; ++half) {
        largest[strip][half] = -INFINITY;
        sum[strip][half] = 0.0F;
      }
    }
  }

  // Replaces every score s by 2^(factor (s - largest)), with the largest score of its row so far,
  // and rescales `out` and `sum` to it.
  template <int columns, int width>
  TRIAX_DEVICE void step(const Block& block, float factor, float (&s)[strips][columns][4],
                         float (&out)[strips][width][4]) {
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int half = 0; half < 2; ++half) {
        float top = largest[strip][half];
        TRIAX_UNROLL
        for (int n = 0; n < columns; ++n)
          top = fmaxf(top, fmaxf(s[strip][n][2 * half], s[strip][n][2 * half + 1]));
        top = fmaxf(top, block.shuffle_xor(top, 1));
        top = fmaxf(top, block.shuffle_xor(top, 2));
        // A row that has seen no key yet: infinity minus infinity would be NaN.
        const float base = limited && top == -INFINITY ? 0.0F : top;
        const float shrink = fast_exp2((largest[strip][half] - base) * factor);
        largest[strip][half] = top;
        const float shift = base * factor;
        float total = 0.0F;
        TRIAX_UNROLL
        for (int n = 0; n < columns; ++n) {
          TRIAX_UNROLL
          for (int i = 2 * half; i < 2 * half + 2; ++i) {
            s[strip][n][i] = fast_exp2(s[strip][n][i] * factor - shift);
            total += s[strip][n][i];
          }
        }
        sum[strip][half] = sum[strip][half] * shrink + total;
        TRIAX_UNROLL
        for (int n = 0; n < width; ++n) {
          out[strip][n][2 * half] *= shrink;
          out[strip][n][2 * half + 1] *= shrink;
        }
      }
    }
  }
};

template <class T, int width, Limits limits>
struct Forward {
  static constexpr AttentionCut cut = forward_cut(width, in_documents(limits));
  static constexpr int max_threads = cut.threads();
  static constexpr int strips = cut.strips;
  static constexpr bool limited = limits != Limits::none;
  AttentionTask task;
  Heads<T> out;
  Heads<float> lse;
  Heads<T> q, k, v;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const AttentionPlace at = query_tile(block, task, cut.held());
    const int i0 = at.tile * cut.held();
    const int own = block.thread_x() / warp * cut.held_by_warp();  // the warp's first row
    const RowRange own_rows{i0 + own, i0 + own + cut.held_by_warp()};
    const auto window = window_of<limits>(task, at.b);
    const HeadRows<T> keys = rows_of_head(task, k, at.b, at.h / task.group());
    const HeadRows<T> values = rows_of_head(task, v, at.b, at.h / task.group());
    T* query_tile = block.shared<T>();
    T* key_tile = query_tile + cut.held() * width;
    T* value_tile = key_tile + cut.walked * width;
    const int begin = window.first_tile(i0, cut.walked);
    begin_rows<cut.held(), width, max_threads>(block, query_tile, rows_of_head(task, q, at.b, at.h),
                                               i0);
    begin_rows<cut.walked, width, max_threads>(block, key_tile, keys, begin);

    float sums[strips][width / 8][4] = {};
    OnlineSoftmax<strips, limited> softmax;
    softmax.reset();
    const float factor = task.unit(limits) * log2_e;
    const int end = i0 + cut.held() < task.length ? i0 + cut.held() : task.length;
    for (int j0 = begin; j0 < end; j0 += cut.walked) {
      const bool seen = window.sees_some(own_rows, {j0, j0 + cut.walked});
      float s[strips][cut.walked / 8][4] = {};
      finish_copies(block);
      block.sync();  // the keys have arrived, and no thread still reads the previous values
      begin_rows<cut.walked, width, max_threads>(block, value_tile, values, j0);
      if (seen) {
        add_row_products<T, width>(block, s, query_tile + own * width, key_tile);
        if constexpr (soft_capped(limits)) cap_products(task, s);
        if (window.hides_some(own_rows, {j0, j0 + cut.walked}))
          mask_keys<limits>(block.thread_x() % warp, s, window, i0 + own, j0);
        softmax.step(block, factor, s, sums);
        if (task.dropout.drops()) drop(block, s, at, i0 + own, j0);
      }
      finish_copies(block);
      block.sync();  // the values have arrived, and no thread still reads the keys
      if (j0 + cut.walked < end)
        begin_rows<cut.walked, width, max_threads>(block, key_tile, keys, j0 + cut.walked);
      if (seen) add_score_products<T, width>(block, sums, pack_scores<T>(s), value_tile);
    }
    finish(block, at, i0, own, sums, softmax);
    block.sync();
    store_rows<cut.held(), width, max_threads>(block, rows_of_head(task, out, at.b, at.h),
                                               query_tile, i0);
  }

  template <int columns>
  TRIAX_DEVICE void drop(const Block& block, float (&s)[strips][columns][4],
                         const AttentionPlace& at, int i0, int j0) const {
    const auto bits = kept_along_rows<strips, columns>(block, [&](int row, int column) {
      return keeps_four(task, at.b, at.h, i0 + row, j0 + column);
    });
    drop_scores(s, bits, task.dropout.factor);
  }

  // Divides the sums by the softmax denominator, writes log-sum-exp, and puts the output rows where
  // the queries were.
  TRIAX_DEVICE void finish(const Block& block, const AttentionPlace& at, int i0, int own,
                           float (&sums)[strips][width / 8][4],
                           const OnlineSoftmax<strips, limited>& softmax) const {
    const int lane = block.thread_x() % warp;
    float* row_lse = lse.of(at.b, at.h);
    TRIAX_UNROLL
    for (int strip = 0; strip < strips; ++strip) {
      TRIAX_UNROLL
      for (int half = 0; half < 2; ++half) {
        float sum = softmax.sum[strip][half];
        sum += block.shuffle_xor(sum, 1);
        sum += block.shuffle_xor(sum, 2);
        const int row = i0 + own + strip * 16 + half * 8 + lane / 4;
        if (lane % 4 == 0 && row < task.length)
          row_lse[row] = softmax.largest[strip][half] * task.unit(limits) + std::log(sum);
        const float inverse = 1.0F / sum;
        TRIAX_UNROLL
        for (int n = 0; n < width / 8; ++n) {
          sums[strip][n][2 * half] *= inverse;
          sums[strip][n][2 * half + 1] *= inverse;
        }
      }
    }
    put_sums<T, width>(block, block.shared<T>() + own * width, sums);
  }
};

}  // namespace

void attention_forward(const Stream& stream, const Tensor& out, const Tensor& lse, const Tensor& q,
                       const Tensor& k, const Tensor& v, const AttentionOptions& options,
                       Arena& scratch) {
  const auto n = triax::attention::sizes_of(q, k, v, options);
  constexpr MemorySpace device = MemorySpace::device;
  triax::attention::check_views({&out, &q}, q.shape(), q.dtype(), device);
  triax::attention::check_views({&k, &v}, k.shape(), q.dtype(), device);
  triax::attention::check_views({&lse}, {n.batch, n.heads, n.length}, DType::f32, device);
  if (cudnn_attention_forward(stream, {.q = q, .k = k, .v = v, .out = out, .lse = lse}, options,
                              scratch))
    return;
  const AttentionTask task(n, options, q.dtype());
  const bool done =
      on_tensor_cores(task, {&q, &k, &v, &out}, [&]<class T, int width>(Type<T>, Width<width>) {
        with_limits(task, [&]<Limits limits>(Limited<limits>) {
          launch(stream,
                 attention_forward_shape(n.batch * n.heads, n.length, width, in_documents(limits)),
                 Forward<T, width, limits>{task, heads_of<T>(out), statistics_of(lse),
                                           heads_of<T>(q), heads_of<T>(k), heads_of<T>(v)});
        });
      });
  if (!done) plain_attention_forward(stream, task, out, lse, q, k, v);
}

}  // namespace triax::cuda
