// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/cached_attention.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/attention/cached.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/attention/attention.hpp"
#include "kernels/cuda/attention/attention_shape.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/norm/row_sum.hpp"

namespace triax::cuda {
namespace {

// A row is one query of one head: B T H rows.
struct CachedTask {
  int queries;  // T
  int heads;
  int group;
  int head_size;
  std::int64_t positions;
  std::int64_t rows;
  std::int64_t part;  // positions in one range
  float scale;
  float* sums;   // (ranges, rows, D)
  float* stats;  // (ranges, rows, 2): largest score, sum of exponentials

  TRIAX_DEVICE int head(std::int64_t row) const { return static_cast<int>(row % heads); }
  TRIAX_DEVICE std::int64_t query(std::int64_t row) const { return row / heads % queries; }
  TRIAX_DEVICE std::int64_t sample(std::int64_t row) const { return row / heads / queries; }
};

struct Larger {
  TRIAX_DEVICE float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Attention of one row over one range of positions. A warp makes each score, with lanes over the
// head; then each thread sums one column of the values.
template <class T>
struct AttendToPart {
  static constexpr int max_threads = cached_threads;
  CachedTask task;
  Heads<T> q, k, v;
  std::int64_t window;  // positions that a query sees, its own included
  float soft_cap;       // 0: none

  TRIAX_DEVICE void operator()(const Block& block) const {
    const std::int64_t row = block.index_x() % task.rows;
    const std::int64_t split = block.index_x() / task.rows * task.part;
    const std::int64_t end = task.positions - task.queries + task.query(row) + 1;
    const std::int64_t first = end - window;  // of the positions that the query sees
    const std::int64_t begin = first > split ? first : split;
    const std::int64_t seen = (end < split + task.part ? end : split + task.part) - begin;
    const auto count = static_cast<int>(seen < 0 ? 0 : seen);
    const int key_head = task.head(row) / task.group;
    const T* keys = k.of(task.sample(row), key_head) + begin * k.row_stride;
    const T* values = v.of(task.sample(row), key_head) + begin * v.row_stride;
    float* scores = block.shared<float>();
    make_scores(block, scores, row, keys, count);
    block.sync();
    if (soft_cap > 0.0F) cap_scores(block, scores, count);
    const float largest = softmax(block, scores, count);
    float* stats = task.stats + 2 * block.index_x();
    float sum = 0.0F;
    for (int j = block.thread_x() % warp; j < count; j += warp) sum += scores[j];
    sum = over_warp(block, sum, Plus{});
    if (block.thread_x() == 0) {
      stats[0] = largest;
      stats[1] = sum;
    }
    for (int d = block.thread_x(); d < task.head_size; d += block.threads_x()) {
      float total = 0.0F;
      for (int j = 0; j < count; ++j) total += scores[j] * widen(values[j * v.row_stride + d]);
      task.sums[block.index_x() * task.head_size + d] = total;
    }
  }

  TRIAX_DEVICE void make_scores(const Block& block, float* scores, std::int64_t row, const T* keys,
                                int count) const {
    const int lane = block.thread_x() % warp;
    const T* query = q.of(task.sample(row), task.head(row)) + task.query(row) * q.row_stride;
    for (int j = warp_of_row(block); j < count; j += warps_of_row(block)) {
      float sum = 0.0F;
      for (int d = lane; d < task.head_size; d += warp)
        sum += widen(query[d]) * widen(keys[j * k.row_stride + d]);
      sum = over_warp(block, sum, Plus{});
      if (lane == 0) scores[j] = sum * task.scale;
    }
  }

  TRIAX_DEVICE void cap_scores(const Block& block, float* scores, int count) const {
    for (int j = block.thread_x(); j < count; j += block.threads_x())
      scores[j] = soft_cap * std::tanh(scores[j] / soft_cap);
    block.sync();
  }

  // Turns scores into exp(score - largest) and returns the largest.
  TRIAX_DEVICE static float softmax(const Block& block, float* scores, int count) {
    float largest = -INFINITY;
    for (int j = block.thread_x() % warp; j < count; j += warp) largest = fmaxf(largest, scores[j]);
    largest = over_warp(block, largest, Larger{});
    block.sync();  // every warp has read the scores
    for (int j = block.thread_x(); j < count; j += block.threads_x())
      scores[j] = std::exp(scores[j] - largest);
    block.sync();
    return largest;
  }
};

// Joins the ranges of a row: their sums, rescaled to the largest score, over the sum of
// exponentials.
template <class T>
struct JoinParts {
  CachedTask task;
  Heads<T> out;
  std::int64_t parts;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    const float* stats = task.stats + 2 * row;
    float top = -INFINITY;
    for (std::int64_t p = 0; p < parts; ++p) top = fmaxf(top, stats[2 * p * task.rows]);
    float sum = 0.0F, total = 0.0F;
    for (std::int64_t p = 0; p < parts; ++p) {
      const float weight = std::exp(stats[2 * p * task.rows] - top);
      total += weight * stats[2 * p * task.rows + 1];
      sum += weight * task.sums[(p * task.rows + row) * task.head_size + column];
    }
    narrow((out.of(task.sample(row), task.head(row)) + task.query(row) * out.row_stride)[column],
           sum / total);
  }
};

}  // namespace

void cached_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& k,
                      const Tensor& v, const AttentionOptions& options, Arena& scratch) {
  const auto n = triax::attention::cached_sizes_of(out, q, k, v, MemorySpace::device);
  const std::int64_t window = triax::attention::window_within(options, k.size(1));
  const std::int64_t past = k.size(1) - n.length;
  // The first position that a query sees: those before it are cut off.
  const std::int64_t first = std::clamp<std::int64_t>(past + 1 - window, 0, past);
  const std::int64_t positions = k.size(1) - first;
  const Tensor keys = k.slice(1, first, positions);
  const Tensor values = v.slice(1, first, positions);
  const triax::attention::CachedCut cut(positions);
  const ArenaScope scope(scratch);
  const triax::attention::CachedPartials partials(scratch, q.shape(), cut.parts);
  const CachedTask task{.queries = static_cast<int>(n.length),
                        .heads = static_cast<int>(n.heads),
                        .group = static_cast<int>(n.group()),
                        .head_size = static_cast<int>(n.head_size),
                        .positions = positions,
                        .rows = n.batch * n.length * n.heads,
                        .part = cut.part,
                        .scale = options.scale,
                        .sums = partials.sums.as<float>(),
                        .stats = partials.stats.as<float>()};
  with_type(q.dtype(), [&]<class T>(Type<T>) {
    launch(stream, cached_attention_shape(task.rows, cut.parts, cut.part),
           AttendToPart<T>{task, heads_of<T>(q), heads_of<T>(keys), heads_of<T>(values), window,
                           options.soft_cap});
    tiles<1>(stream, task.rows, n.head_size, false,
             JoinParts<T>{task, heads_of<T>(out), cut.parts});
  });
}

}  // namespace triax::cuda
