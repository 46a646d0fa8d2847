// SPDX-License-Identifier: Apache-2.0
// Attention for any type, head size and alignment, in float32 arithmetic without tensor cores.
#include <cmath>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/attention/attention_plain_tile.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {
namespace {

constexpr int forward_row_tiles = 3;         // queries, keys or values, sums
constexpr int query_gradient_row_tiles = 5;  // queries, dout, keys, values, sums
constexpr int key_gradient_row_tiles = 6;    // keys, values, queries, dout, two tiles of sums

struct Max {
  TRIAX_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Score of a query and a key from their product.
template <Limits limits>
TRIAX_DEVICE inline float score_of(const AttentionTask& task, float product) {
  return (soft_capped(limits) ? task.cap_product(product) : product) * task.unit(limits);
}

// Dropout's factor for one probability: 0 if it is dropped, 1 / (1 - probability) if it is kept.
TRIAX_DEVICE inline float multiplier(const AttentionTask& task, std::int64_t b, int h, int i,
                                     int j) {
  if (!task.dropout.drops()) return 1.0F;
  return task.keeps(b, h, i, j) ? task.dropout.factor : 0.0F;
}

template <class T, Limits limits>
struct PlainForward {
  static constexpr int max_threads = warp * plain_warps;
  AttentionTask task;
  Heads<T> out;
  Heads<float> lse;
  Heads<T> q, k, v;
  int rows;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const PlainTiles tiles{block, task.head_size, rows};
    const AttentionPlace at = query_tile(block, task, rows);
    const int i0 = at.tile * rows;
    const int key_head = at.h / task.group();
    float* scores = tiles.scores(forward_row_tiles, 0);
    float* factor = scores + rows * plain_pitch;
    tiles.load(tiles.tile(0), q.of(at.b, at.h), q.row_stride, i0, task.length);
    tiles.clear(tiles.tile(2));
    float largest[own_rows], sum[own_rows];
    TRIAX_UNROLL
    for (int m = 0; m < own_rows; ++m) {
      largest[m] = -INFINITY;
      sum[m] = 0.0F;
    }
    for (int j0 = window_of<limits>(task, at.b).first_tile(i0, rows); j0 <= i0; j0 += rows) {
      block.sync();
      tiles.load(tiles.tile(1), k.of(at.b, key_head), k.row_stride, j0, task.length);
      block.sync();
      softmax_step(tiles, at, i0, j0, largest, sum);
      block.sync();
      tiles.load(tiles.tile(1), v.of(at.b, key_head), v.row_stride, j0, task.length);
      block.sync();
      tiles.add_products(tiles.tile(2), factor, scores, tiles.tile(1));
    }
    TRIAX_UNROLL
    for (int m = 0; m < own_rows; ++m) {
      const int row = tiles.row(m);
      if (row >= rows || i0 + row >= task.length) continue;
      if (block.thread_x() == 0) lse.of(at.b, at.h)[i0 + row] = largest[m] + std::log(sum[m]);
      T* to = out.of(at.b, at.h) + (i0 + row) * out.row_stride;
      for (int d = block.thread_x(); d < task.head_size; d += warp)
        narrow(to[d], tiles.tile(2)[row * tiles.pitch() + d] / sum[m]);
    }
  }

  // Turns scores into exponentials relative to the largest score so far; factor[row] rescales the
  // sums made before.
  TRIAX_DEVICE void softmax_step(const PlainTiles& tiles, const AttentionPlace& at, int i0, int j0,
                                 float (&largest)[own_rows], float (&sum)[own_rows]) const {
    const Block& block = tiles.block;
    float* scores = tiles.scores(forward_row_tiles, 0);
    float* factor = scores + rows * plain_pitch;
    const auto window = window_of<limits>(task, at.b);
    const int column = block.thread_x();
    float s[own_rows];
    tiles.row_products(s, tiles.tile(0), tiles.tile(1));
    TRIAX_UNROLL
    for (int m = 0; m < own_rows; ++m) {
      const int row = tiles.row(m);
      const bool masked = column >= rows || !window.sees(i0 + row, j0 + column);
      const float score = masked ? -INFINITY : score_of<limits>(task, s[m]);
      const float top = over_warp(block, fmaxf(score, largest[m]), Max{});
      // A row that has seen no key yet: infinity minus infinity would be NaN.
      const float base = limits != Limits::none && top == -INFINITY ? 0.0F : top;
      const float p = masked ? 0.0F : std::exp(score - base);
      const float shrink = std::exp(largest[m] - base);
      largest[m] = top;
      sum[m] = sum[m] * shrink + over_warp(block, p, Plus{});
      if (row >= rows || column >= rows) continue;
      const float keep = multiplier(task, at.b, at.h, i0 + row, j0 + column);
      scores[row * plain_pitch + column] = p * keep;
      if (column == 0) factor[row] = shrink;
    }
  }
};

template <class T, Limits limits>
struct PlainOperands {
  AttentionTask task;
  Heads<T> dout, q, k, v;
  Heads<float> lse, delta;
  int rows;

  /// Replaces s by the probability of query i and key j (with dropout's factor), and dp, the
  /// gradient of that probability, by the gradient of the score.
  TRIAX_DEVICE void score_gradient(float& s, float& dp, const AttentionPlace& at, int h, int i,
                                   int j) const {
    if (!window_of<limits>(task, at.b).sees(i, j) || i >= task.length) {
      s = 0.0F;
      dp = 0.0F;
      return;
    }
    const float score = score_of<limits>(task, s);
    const float p = std::exp(score - lse.of(at.b, h)[i]);
    const float keep = multiplier(task, at.b, h, i, j);
    s = p * keep;
    dp = p * (keep * dp - delta.of(at.b, h)[i]);
    if constexpr (soft_capped(limits)) {
      const float capped = score / task.soft_cap;
      dp *= 1.0F - capped * capped;
    }
  }
};

template <class T, Limits limits>
struct PlainQueryGradient {
  static constexpr int max_threads = warp * plain_warps;
  PlainOperands<T, limits> of;
  Heads<T> dq;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const AttentionTask& task = of.task;
    const int rows = of.rows;
    const PlainTiles tiles{block, task.head_size, rows};
    const AttentionPlace at = query_tile(block, task, rows);
    const int i0 = at.tile * rows;
    const int key_head = at.h / task.group();
    float* scores = tiles.scores(query_gradient_row_tiles, 0);
    tiles.load(tiles.tile(0), of.q.of(at.b, at.h), of.q.row_stride, i0, task.length);
    tiles.load(tiles.tile(1), of.dout.of(at.b, at.h), of.dout.row_stride, i0, task.length);
    tiles.clear(tiles.tile(4));
    const auto window = window_of<limits>(task, at.b);
    for (int j0 = window.first_tile(i0, rows); j0 <= i0; j0 += rows) {
      block.sync();
      tiles.load(tiles.tile(2), of.k.of(at.b, key_head), of.k.row_stride, j0, task.length);
      tiles.load(tiles.tile(3), of.v.of(at.b, key_head), of.v.row_stride, j0, task.length);
      block.sync();
      float s[own_rows], dp[own_rows];
      tiles.row_products(s, tiles.tile(0), tiles.tile(2));
      tiles.row_products(dp, tiles.tile(1), tiles.tile(3));
      TRIAX_UNROLL
      for (int m = 0; m < own_rows; ++m) {
        const int row = tiles.row(m);
        if (row >= rows || block.thread_x() >= rows) continue;
        of.score_gradient(s[m], dp[m], at, at.h, i0 + row, j0 + block.thread_x());
        scores[row * plain_pitch + block.thread_x()] = dp[m];
      }
      block.sync();
      tiles.add_products(tiles.tile(4), nullptr, scores, tiles.tile(2));
    }
    tiles.store(dq.of(at.b, at.h), dq.row_stride, i0, task.length, tiles.tile(4), task.scale);
  }
};

// One CUDA block works on a tile of a key head and walks over all query heads that read it. Scores
// are transposed: one key per row.
template <class T, Limits limits>
struct PlainKeyGradient {
  static constexpr int max_threads = warp * plain_warps;
  PlainOperands<T, limits> of;
  Heads<T> dk, dv;

  TRIAX_DEVICE void operator()(const Block& block) const {
    const AttentionTask& task = of.task;
    const PlainTiles tiles{block, task.head_size, of.rows};
    const AttentionPlace at = key_tile(block, task, of.rows);
    const int j0 = at.tile * of.rows;
    tiles.load(tiles.tile(0), of.k.of(at.b, at.h), of.k.row_stride, j0, task.length);
    tiles.load(tiles.tile(1), of.v.of(at.b, at.h), of.v.row_stride, j0, task.length);
    tiles.clear(tiles.tile(4));
    tiles.clear(tiles.tile(5));
    const auto window = window_of<limits>(task, at.b);
    const int end = window.queries_end({j0, j0 + of.rows}, task.length);
    for (int h = at.h * task.group(); h < (at.h + 1) * task.group(); ++h)
      for (int i0 = j0; i0 < end; i0 += of.rows) add_queries(tiles, at, h, i0, j0);
    tiles.store(dk.of(at.b, at.h), dk.row_stride, j0, task.length, tiles.tile(4), task.scale);
    tiles.store(dv.of(at.b, at.h), dv.row_stride, j0, task.length, tiles.tile(5), 1.0F);
  }

  TRIAX_DEVICE void add_queries(const PlainTiles& tiles, const AttentionPlace& at, int h, int i0,
                                int j0) const {
    const Block& block = tiles.block;
    float* p = tiles.scores(key_gradient_row_tiles, 0);
    float* ds = tiles.scores(key_gradient_row_tiles, 1);
    block.sync();
    tiles.load(tiles.tile(2), of.q.of(at.b, h), of.q.row_stride, i0, of.task.length);
    tiles.load(tiles.tile(3), of.dout.of(at.b, h), of.dout.row_stride, i0, of.task.length);
    block.sync();
    float s[own_rows], dp[own_rows];
    tiles.row_products(s, tiles.tile(0), tiles.tile(2));
    tiles.row_products(dp, tiles.tile(1), tiles.tile(3));
    TRIAX_UNROLL
    for (int m = 0; m < own_rows; ++m) {
      const int row = tiles.row(m);
      if (row >= of.rows || block.thread_x() >= of.rows) continue;
      of.score_gradient(s[m], dp[m], at, h, i0 + block.thread_x(), j0 + row);
      p[row * plain_pitch + block.thread_x()] = s[m];
      ds[row * plain_pitch + block.thread_x()] = dp[m];
    }
    block.sync();
    tiles.add_products(tiles.tile(5), nullptr, p, tiles.tile(3));
    tiles.add_products(tiles.tile(4), nullptr, ds, tiles.tile(2));
  }
};

template <class Body>
void with_type_and_limits(DType type, const AttentionTask& task, const Body& body) {
  with_type(type, [&]<class T>(Type<T> element) {
    with_limits(task, [&]<Limits limits>(Limited<limits> limited) { body(element, limited); });
  });
}

}  // namespace

void plain_attention_forward(const Stream& stream, const AttentionTask& task, const Tensor& out,
                             const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v) {
  const PlainCut cut =
      plain_attention_cut(task.head_size, forward_row_tiles, 1, shared_memory_of(stream));
  with_type_and_limits(q.dtype(), task, [&]<class T, Limits limits>(Type<T>, Limited<limits>) {
    launch(stream, plain_attention_shape(task.batch * task.heads, task.length, cut),
           PlainForward<T, limits>{task, heads_of<T>(out), statistics_of(lse), heads_of<T>(q),
                                   heads_of<T>(k), heads_of<T>(v), cut.rows});
  });
}

void plain_attention_backward(const Stream& stream, const AttentionTask& task, const Tensor& dq,
                              const Tensor& dk, const Tensor& dv, const Tensor& dout,
                              const Tensor& delta, const Tensor& lse, const Tensor& q,
                              const Tensor& k, const Tensor& v) {
  const std::size_t shared = shared_memory_of(stream);
  const PlainCut queries = plain_attention_cut(task.head_size, query_gradient_row_tiles, 1, shared);
  const PlainCut keys = plain_attention_cut(task.head_size, key_gradient_row_tiles, 2, shared);
  with_type_and_limits(q.dtype(), task, [&]<class T, Limits limits>(Type<T>, Limited<limits>) {
    PlainOperands<T, limits> of{
        task,           heads_of<T>(dout),  heads_of<T>(q),       heads_of<T>(k),
        heads_of<T>(v), statistics_of(lse), statistics_of(delta), queries.rows};
    launch(stream, plain_attention_shape(task.batch * task.heads, task.length, queries),
           PlainQueryGradient<T, limits>{of, heads_of<T>(dq)});
    of.rows = keys.rows;
    launch(stream, plain_attention_shape(task.batch * task.key_heads, task.length, keys),
           PlainKeyGradient<T, limits>{of, heads_of<T>(dk), heads_of<T>(dv)});
  });
}

}  // namespace triax::cuda
