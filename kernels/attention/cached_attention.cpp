// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/cached_attention.hpp"

#include <algorithm>
#include <limits>

#include "kernels/attention/cached.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/vector_loop.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax {
namespace {

using attention::CachedCut;

// Element access to a tensor (B, T, H, D).
template <class T>
struct Heads {
  T* data;
  std::int64_t batch_stride, row_stride, head_stride;

  explicit Heads(const Tensor& x)
      : data(x.as<T>()),
        batch_stride(x.stride(0)),
        row_stride(x.stride(1)),
        head_stride(x.stride(2)) {}
  T* of(std::int64_t b, std::int64_t row, std::int64_t h) const {
    return data + b * batch_stride + row * row_stride + h * head_stride;
  }
};

// One split's partial results for a sample's rows (t, h), and the scores of one chunk of positions.
struct PartRows {
  float* sums;    // (rows, D)
  float* stats;   // (rows, 2)
  float* scores;  // (rows, block)
};

template <class T>
struct Attending {
  attention::Sizes n;
  std::int64_t past;  // positions before the first query's own
  float scale, soft_cap;
  Heads<T> q, k, v;

  // Number of the `count` positions from `begin` on that lie before the window of query t.
  std::int64_t hidden(std::int64_t t, std::int64_t begin, std::int64_t count) const {
    return std::clamp<std::int64_t>(past + t + 1 - n.window - begin, 0, count);
  }
  // Number of those that do not lie after query t.
  std::int64_t seen(std::int64_t t, std::int64_t begin, std::int64_t count) const {
    return std::clamp<std::int64_t>(past + t + 1 - begin, 0, count);
  }

  // visit(row, t, h) for the rows that read key head g and see `position`.
  template <class Visit>
  void each_reader(std::int64_t g, std::int64_t position, const Visit& visit) const {
    const std::int64_t end = std::min(n.length, position - past + n.window);
    for (std::int64_t t = std::max<std::int64_t>(position - past, 0); t < end; ++t)
      for (std::int64_t h = g * n.group(); h < (g + 1) * n.group(); ++h)
        visit(t * n.heads + h, t, h);
  }

  // Goes position by position, so that keys are read in memory order; add_values does the same.
  void make_scores(const PartRows& rows, std::int64_t b, std::int64_t begin,
                   std::int64_t count) const {
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t g = 0; g < n.key_heads; ++g) {
        const T* key = k.of(b, begin + j, g);
        each_reader(g, begin + j, [&](std::int64_t row, std::int64_t t, std::int64_t h) {
          const T* query = q.of(b, t, h);
          rows.scores[row * CachedCut::block + j] =
              scale * vector_sum(n.head_size, [=](std::int64_t d, auto lanes) {
                return Product{lanes.load(query + d), lanes.stream(key + d)};
              });
        });
      }
  }

  void add_values(const PartRows& rows, std::int64_t b, std::int64_t begin,
                  std::int64_t count) const {
    for (std::int64_t j = 0; j < count; ++j)
      for (std::int64_t g = 0; g < n.key_heads; ++g) {
        const T* value = v.of(b, begin + j, g);
        each_reader(g, begin + j, [&](std::int64_t row, std::int64_t, std::int64_t) {
          const float p = rows.scores[row * CachedCut::block + j];
          float* sums = rows.sums + row * n.head_size;
          for_vectors(0, n.head_size, [=](std::int64_t d, auto lanes) {
            lanes.store(sums + d, multiply_add(FloatVector{} + p, lanes.stream(value + d),
                                               lanes.load(sums + d)));
          });
        });
      }
  }

  // Caps `count` scores of a row, turns them into exp(score - largest), and rescales the row's sums
  // to the new largest score.
  void softmax_step(const PartRows& rows, std::int64_t row, float* scores,
                    std::int64_t count) const {
    if (soft_cap > 0.0F)
      for_vectors(0, count, [=, this](std::int64_t j, auto lanes) {
        lanes.store(scores + j, soft_cap * fast_tanh(lanes.load(scores + j) / soft_cap));
      });
    float* sums = rows.sums + row * n.head_size;
    float& largest = rows.stats[2 * row];
    float& sum = rows.stats[2 * row + 1];
    const float top = std::max(largest, *std::max_element(scores, scores + count));
    const float shrink = fast_exp_flushed(largest - top);
    for_vectors(0, count, [=](std::int64_t j, auto lanes) {
      lanes.store(scores + j, fast_exp_flushed(lanes.load(scores + j) - top));
    });
    sum = sum * shrink +
          vector_sum(count, [=](std::int64_t j, auto lanes) { return lanes.load(scores + j); });
    largest = top;
    for_vectors(0, n.head_size, [=](std::int64_t d, auto lanes) {
      lanes.store(sums + d, shrink * lanes.load(sums + d));
    });
  }

  void attend(const PartRows& rows, std::int64_t b, std::int64_t begin, std::int64_t end) const {
    const std::int64_t all = n.length * n.heads;
    std::fill_n(rows.sums, all * n.head_size, 0.0F);
    for (std::int64_t row = 0; row < all; ++row) {
      rows.stats[2 * row] = -std::numeric_limits<float>::infinity();
      rows.stats[2 * row + 1] = 0.0F;
    }
    for (; begin < end; begin += CachedCut::block) {
      const std::int64_t count = std::min(CachedCut::block, end - begin);
      make_scores(rows, b, begin, count);
      for (std::int64_t row = 0; row < all; ++row) {
        const std::int64_t t = row / n.heads;
        const std::int64_t before = hidden(t, begin, count);
        if (const std::int64_t some = seen(t, begin, count) - before; some > 0)
          softmax_step(rows, row, rows.scores + row * CachedCut::block + before, some);
      }
      add_values(rows, b, begin, count);
    }
  }
};

// out = a row's sums over all splits divided by its sum of exponentials, all scaled to one largest
// score.
template <class T>
void join_parts(T* out, const float* sums, const float* stats, std::int64_t parts,
                std::int64_t rows, std::int64_t head_size) {
  float weight[CachedCut::most_parts];
  float top = stats[0];  // of the parts, a row sees one at least
  for (std::int64_t p = 1; p < parts; ++p) top = std::max(top, stats[2 * p * rows]);
  float total = 0.0F;
  for (std::int64_t p = 0; p < parts; ++p) {
    weight[p] = fast_exp_flushed(stats[2 * p * rows] - top);
    total += weight[p] * stats[2 * p * rows + 1];
  }
  for_vectors(0, head_size, [&](std::int64_t d, auto lanes) {
    FloatVector sum{};
    for (std::int64_t p = 0; p < parts; ++p)
      sum += weight[p] * lanes.load(sums + p * rows * head_size + d);
    lanes.store(out + d, sum / total);
  });
}

}  // namespace

void cached_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& k,
                      const Tensor& v, const AttentionOptions& options, Arena& scratch) {
  check(options.dropout.probability <= 0.0F, "dropout of probabilities over a KV cache");
  check(options.positions.empty(), "documents in a KV cache");
  const std::int64_t positions = k.size(1);
  const std::int64_t window = attention::window_within(options, positions);
  if (on_device(stream)) return cuda::cached_attention(stream, out, q, k, v, options, scratch);
  attention::Sizes n = attention::cached_sizes_of(out, q, k, v, MemorySpace::host);
  n.window = window;
  const std::int64_t past = positions - n.length;
  const std::int64_t first = std::max<std::int64_t>(past + 1 - n.window, 0);  // seen by query 0
  const CachedCut cut(positions - first);
  const ArenaScope scope(scratch);
  const attention::CachedPartials partials(scratch, q.shape(), cut.parts);
  float* const sums = partials.sums.as<float>();
  float* const stats = partials.stats.as<float>();
  float* const scores = partials.scores.as<float>();
  const std::int64_t of_sample = n.length * n.heads;
  const std::int64_t rows = n.batch * of_sample;
  with_type(q.dtype(), [&]<class T>(Type<T>) {
    const Attending<T> of{n,           past,        options.scale, options.soft_cap,
                          Heads<T>(q), Heads<T>(k), Heads<T>(v)};
    parallel_for(n.batch * cut.parts, [=](std::int64_t task) {
      const std::int64_t b = task / cut.parts;
      const std::int64_t part = task % cut.parts;
      const std::int64_t row = part * rows + b * of_sample;
      of.attend({sums + row * n.head_size, stats + 2 * row, scores + row * CachedCut::block}, b,
                first + part * cut.part, std::min(positions, first + (part + 1) * cut.part));
    });
    const Heads<T> to(out);
    parallel_for(rows, [=](std::int64_t row) {
      const std::int64_t t = row / n.heads;
      join_parts(to.of(t / n.length, t % n.length, row % n.heads), sums + row * n.head_size,
                 stats + 2 * row, cut.parts, rows, n.head_size);
    });
  });
}

}  // namespace triax
