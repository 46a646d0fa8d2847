// SPDX-License-Identifier: Apache-2.0
// Gradients of attention's keys and values (FlashAttention-2: Dao 2023).
#include "kernels/cuda/attention/attention_dropout.hpp"
#include "kernels/cuda/attention/attention_gradient.hpp"

namespace triax::cuda {
namespace {

// One CUDA block works on a tile of a key head and walks over all query heads that read it, so no
// other block writes its gradients. Scores are transposed: one key per row.
template <class T, int width, Limits limits>
struct KeyGradient {
  static constexpr AttentionCut cut = key_gradient_cut(width);
  static constexpr int max_threads = cut.threads();
  static constexpr int strips = cut.strips;
  using Held = TilePair<cut.held(), width, max_threads, T>;
  using Walked = TilePair<cut.walked, width, max_threads, T>;
  GradientOperands<T> of;
  Heads<T> dk, dv;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const AttentionTask& task = of.task;
    const AttentionPlace at = key_tile(block, task, cut.held());
    const int j0 = at.tile * cut.held();
    const int own = block.thread_x() / warp * cut.held_by_warp();
    T* shared = block.shared<T>();
    const Held held(shared);  // keys and values
    held.begin(block, rows_of_head(task, of.k, at.b, at.h), rows_of_head(task, of.v, at.b, at.h),
               j0);
    const auto window = window_of<limits>(task, at.b);
    const RowRange own_rows{j0 + own, j0 + own + cut.held_by_warp()};
    // Walks over all queries that see a key of the tile, one query head after another.
    const RowRange queries{j0, window.queries_end({j0, j0 + cut.held()}, task.length)};
    Step now{at.h * task.group(), j0, 0};
    const int end = now.h + task.group();
    begin_queries(block, at.b, now);

    float key_sums[strips][width / 8][4] = {};
    float value_sums[strips][width / 8][4] = {};
    for (Step next = after(now, queries); now.h < end; now = next, next = after(next, queries)) {
      finish_copies(block);
      block.sync();  // this tile has arrived, and no thread still reads the previous one
      if (next.h < end) begin_queries(block, at.b, next);
      if (!window.sees_some({now.i0, now.i0 + cut.walked}, own_rows)) continue;
      const Walked tiles(walked_tile(block, now.turn));
      float s[strips][cut.walked / 8][4] = {};
      float dp[strips][cut.walked / 8][4] = {};
      add_row_products<T, width>(block, s, held.first + own * width, tiles.first);
      add_row_products<T, width>(block, dp, held.second + own * width, tiles.second);
      score_gradient(block, at.b, now, own_rows, s, dp);
      const auto p = pack_scores<T>(s);
      const auto ds = pack_scores<T>(dp);
      add_score_products<T, width>(block, value_sums, p, tiles.second);
      add_score_products<T, width>(block, key_sums, ds, tiles.first);
    }
    scale_all(key_sums, task.scale);
    put_sums<T, width>(block, held.first + own * width, key_sums);
    put_sums<T, width>(block, held.second + own * width, value_sums);
    block.sync();
    store_rows<cut.held(), width, max_threads>(block, rows_of_head(task, dk, at.b, at.h),
                                               held.first, j0);
    store_rows<cut.held(), width, max_threads>(block, rows_of_head(task, dv, at.b, at.h),
                                               held.second, j0);
  }

  // A tile of queries of one head, and which of the two buffers holds it.
  struct Step {
    int h;
    int i0;
    int turn;
  };
  TRIAX_DEVICE static Step after(const Step& step, const RowRange& queries) {
    const int i0 = step.i0 + cut.walked;
    const bool same = i0 < queries.end;
    return {same ? step.h : step.h + 1, same ? i0 : queries.begin, step.turn ^ 1};
  }

  // Queries and dout of a buffer, behind keys and values.
  TRIAX_DEVICE static T* walked_tile(const Block& block, int turn) {
    return block.shared<T>() + (2 * cut.held() + turn * (2 * cut.walked)) * width;
  }
  // Log-sum-exp and delta of a buffer's queries, behind all tiles.
  TRIAX_DEVICE static float* statistics(const Block& block, int turn) {
    T* end = block.shared<T>() + (2 * cut.held() + 4 * cut.walked) * width;
    return reinterpret_cast<float*>(end) + turn * (2 * cut.walked);
  }

  TRIAX_DEVICE void begin_queries(const Block& block, std::int64_t b, const Step& step) const {
    Walked(walked_tile(block, step.turn))
        .begin(block, rows_of_head(of.task, of.q, b, step.h),
               rows_of_head(of.task, of.dout, b, step.h), step.i0);
    static_assert(2 * cut.walked <= max_threads);
    const int thread = block.thread_x();
    if (thread >= 2 * cut.walked) return;
    const Heads<float>& from = thread < cut.walked ? of.lse : of.delta;
    const int row = step.i0 + thread % cut.walked;
    const bool present = row < of.task.length;
    begin_copy<4>(block, statistics(block, step.turn) + thread,
                  from.of(b, step.h) + (present ? row : 0), present);
  }

  // Rows are the warp's keys, columns are queries.
  template <int columns>
  TRIAX_DEVICE void score_gradient(const Block& block, std::int64_t b, const Step& step,
                                   const RowRange& own_rows, float (&s)[strips][columns][4],
                                   float (&dp)[strips][columns][4]) const {
    const float* lse = statistics(block, step.turn);
    const auto window = window_of<limits>(of.task, b);
    const int i0 = step.i0;
    const int j0 = own_rows.begin;
    const int lane = block.thread_x() % warp;
    std::uint64_t bits = 0;
    if (of.task.dropout.drops()) {
      bits = kept_along_columns<strips, columns>(block, [&](int row, int column) {
        return keeps_four(of.task, b, step.h, i0 + column, j0 + row);
      });
      drop_scores(dp, bits, of.task.dropout.factor);
    }
    if constexpr (soft_capped(limits)) cap_products(of.task, s);
    if (window.hides_some({i0, i0 + cut.walked}, own_rows))
      mask_scores(lane, s,
                  [&](int row, int column) { return !window.sees(i0 + column, j0 + row); });
    TRIAX_UNROLL
    for (int n = 0; n < columns; ++n) {
      TRIAX_UNROLL
      for (int odd = 0; odd < 2; ++odd) {
        const int column = score_column(lane, n, odd);
        const float lse2 = lse[column] * log2_e;
        const float delta = lse[cut.walked + column];
        TRIAX_UNROLL
        for (int strip = 0; strip < strips; ++strip) {
          TRIAX_UNROLL
          for (int i = odd; i < 4; i += 2)
            of.template score_gradient<limits>(s[strip][n][i], dp[strip][n][i], lse2, delta);
        }
      }
    }
    if (of.task.dropout.drops()) drop_scores(s, bits, of.task.dropout.factor);
  }
};

}  // namespace

bool key_gradient(const Stream& stream, const AttentionTask& task, const Tensor& dk,
                  const Tensor& dv, const Tensor& dout, const Tensor& delta, const Tensor& lse,
                  const Tensor& q, const Tensor& k, const Tensor& v) {
  return on_tensor_cores(
      task, {&q, &k, &v, &dout, &dk, &dv}, [&]<class T, int width>(Type<T>, Width<width>) {
        with_limits(task, [&]<Limits limits>(Limited<limits>) {
          launch(
              stream, attention_key_gradient_shape(task.batch * task.key_heads, task.length, width),
              KeyGradient<T, width, limits>{gradient_operands<T>(task, dout, q, k, v, lse, delta),
                                            heads_of<T>(dk), heads_of<T>(dv)});
        });
      });
}

}  // namespace triax::cuda
