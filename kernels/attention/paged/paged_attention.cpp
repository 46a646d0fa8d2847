// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_attention.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "kernels/attention/paged/paged_tiles.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/matmul/row_tiles.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax {
namespace {

using namespace paged;
using row_tiles::column_product;

template <class T>
struct PagedPass {
  PagedSizes n;
  float scale, soft_cap;
  std::int64_t window;
  const float* q;
  std::int64_t q_stride;
  float* out;
  std::int64_t out_stride;
  const T* cache;

  const T* page(const QueryTile& tile, std::int64_t position) const {
    const std::int64_t number = tile.chunk->table[position / n.page_tokens];
    return cache + (number * n.kv_heads + tile.g) * 2 * n.page_tokens * n.head_size;
  }
  std::int64_t first_seen(std::int64_t position) const {
    return std::max<std::int64_t>(0, position + 1 - window);
  }

  void load_queries(const QueryTile& tile, const TileMemory& m) const {
    const std::int64_t width = n.group() * n.head_size;
    for (std::int64_t i = 0; i < tile.positions; ++i)
      std::copy_n(q + tile.row(tile.first + i) * q_stride + tile.g * width, width,
                  m.queries + i * width);
  }

  // Turns the scores [begin, end) of a row into exp(score - largest), those around them into 0, and
  // rescales the row's sums to the new largest score.
  void softmax_step(float* scores, std::int64_t begin, std::int64_t end, std::int64_t width,
                    float* sums, float* stats) const {
    std::fill(scores, scores + std::min(begin, width), 0.0F);
    if (begin >= end) return std::fill(scores, scores + width, 0.0F);
    std::fill(scores + end, scores + width, 0.0F);
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    FloatVector tops = FloatVector{} + lowest;
    for_vectors(begin, end, [&](std::int64_t j, auto lanes) {
      FloatVector score = scale * lanes.load(scores + j);
      if (soft_cap > 0.0F) score = soft_cap * fast_tanh(score / soft_cap);
      lanes.store(scores + j, score);
      tops = larger(lanes.only(score, lowest), tops);
    });
    const float top = std::max(stats[0], largest_lane(tops));
    const float shrink = fast_exp_flushed(stats[0] - top);
    for_vectors(begin, end, [=](std::int64_t j, auto lanes) {
      lanes.store(scores + j, fast_exp_flushed(lanes.load(scores + j) - top));
    });
    const float* from = scores + begin;
    stats[1] = stats[1] * shrink + vector_sum(end - begin, [=](std::int64_t j, auto lanes) {
                 return lanes.load(from + j);
               });
    if (top != stats[0] && shrink != 1.0F)
      for_vectors(0, n.head_size, [=](std::int64_t d, auto lanes) {
        lanes.store(sums + d, shrink * lanes.load(sums + d));
      });
    stats[0] = top;
  }

  // Adds the positions [begin, end), which begin with a page, to the sums. Some row sees one.
  void add_span(const QueryTile& tile, const TileMemory& m, const PartSums& to, std::int64_t begin,
                std::int64_t end) const {
    const std::int64_t rows = tile.positions * n.group(), width = end - begin;
    for (std::int64_t at = 0; at < width; at += n.page_tokens)
      column_product<T>({.a = m.queries,
                         .a_stride = n.head_size,
                         .b = page(tile, begin + at),
                         .b_stride = n.page_tokens,
                         .c = m.scores + at,
                         .c_stride = paged_span,
                         .bias = nullptr,
                         .rows = rows,
                         .columns = n.page_tokens,
                         .depth = n.head_size},
                        /*accumulate=*/false);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t position = tile.first + row / n.group();
      const std::int64_t from = std::max<std::int64_t>(first_seen(position) - begin, 0);
      softmax_step(m.scores + row * paged_span, from, std::min(position + 1 - begin, width), width,
                   to.sums + row * n.head_size, to.stats + 2 * row);
    }
    for (std::int64_t at = 0; at < width; at += n.page_tokens)
      column_product<T>({.a = m.scores + at,
                         .a_stride = paged_span,
                         .b = page(tile, begin + at) + n.page_tokens * n.head_size,
                         .b_stride = n.head_size,
                         .c = to.sums,
                         .c_stride = n.head_size,
                         .bias = nullptr,
                         .rows = rows,
                         .columns = n.head_size,
                         .depth = n.page_tokens},
                        /*accumulate=*/true);
  }

  // Sums over the positions of one split, as far as the tile sees them.
  void attend(const QueryTile& tile, std::int64_t split, const TileMemory& m,
              const PartSums& to) const {
    const auto page_begin = [&](std::int64_t p) { return p / n.page_tokens * n.page_tokens; };
    const std::int64_t begin = std::max(split * split_size, page_begin(first_seen(tile.first)));
    const std::int64_t end =
        std::min((split + 1) * split_size, page_begin(tile.last() + n.page_tokens));
    to.clear(tile.positions * n.group(), n.head_size);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t next = std::min(end, (at / paged_span + 1) * paged_span);
      add_span(tile, m, to, at, next);
      at = next;
    }
  }

  // all += part, scaled to one largest score.
  void join(const PartSums& all, const PartSums& part, std::int64_t rows) const {
    for (std::int64_t row = 0; row < rows; ++row) {
      float* const a = all.stats + 2 * row;
      const float* const b = part.stats + 2 * row;
      if (b[1] == 0.0F) continue;  // the row sees nothing of the part
      const float top = std::max(a[0], b[0]);
      const float of_all = fast_exp_flushed(a[0] - top), of_part = fast_exp_flushed(b[0] - top);
      a[0] = top;
      a[1] = of_all * a[1] + of_part * b[1];
      float* const sums = all.sums + row * n.head_size;
      const float* const added = part.sums + row * n.head_size;
      for_vectors(0, n.head_size, [=](std::int64_t d, auto lanes) {
        lanes.store(sums + d, of_all * lanes.load(sums + d) + of_part * lanes.load(added + d));
      });
    }
  }

  void write(const QueryTile& tile, const PartSums& all) const {
    for (std::int64_t row = 0; row < tile.positions * n.group(); ++row) {
      const float total = all.stats[2 * row + 1];
      const float* const from = all.sums + row * n.head_size;
      float* const to = out + tile.row(tile.first + row / n.group()) * out_stride +
                        (tile.g * n.group() + row % n.group()) * n.head_size;
      for_vectors(0, n.head_size, [=](std::int64_t d, auto lanes) {
        lanes.store(to + d, lanes.load(from + d) / total);
      });
    }
  }

  std::int64_t first_split(const QueryTile& tile) const {
    return first_seen(tile.first) / split_size;
  }
  static std::int64_t splits_end(const QueryTile& tile) { return tile.last() / split_size + 1; }
};

// work(item, thread) for each item of [0, n): threads take the next one when they are free.
template <class Work>
void share_out(std::int64_t n, const Work& work) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t>* const counter = &next;
  const Work* const of = &work;
  parallel_for(host_concurrency(), [=](std::int64_t thread) {
    for (std::int64_t i = (*counter)++; i < n; i = (*counter)++) (*of)(i, thread);
  });
}

std::int64_t splits_of(std::int64_t context) {
  return (context + split_size - 1) / split_size;
}

PagedSizes sizes_of(const Shape& queries, std::int64_t kv_heads, std::int64_t page_tokens) {
  check(queries.rank() == 3 && kv_heads >= 1 && queries[1] % kv_heads == 0,
        "paged attention of {} over {} key heads", queries, kv_heads);
  return {queries[1], kv_heads, queries[2], page_tokens};
}

// Every tile at once, a thread each.
template <class T>
void whole_tiles(const PagedPass<T>& pass, const Tiles& tiles, float* memory) {
  share_out(tiles.count(), [&](std::int64_t number, std::int64_t thread) {
    const TileMemory m(memory + thread * TileMemory::floats(pass.n), pass.n);
    const QueryTile tile = tiles.at(number);
    const std::int64_t rows = tile.positions * pass.n.group();
    pass.load_queries(tile, m);
    m.all.clear(rows, pass.n.head_size);
    for (std::int64_t s = pass.first_split(tile); s < pass.splits_end(tile); ++s) {
      pass.attend(tile, s, m, m.part);
      pass.join(m.all, m.part, rows);
    }
    pass.write(tile, m.all);
  });
}

// A thread for each split of each tile, then one that joins them: the same bits.
template <class T>
void split_tiles(const PagedPass<T>& pass, const Tiles& tiles, std::int64_t splits, float* memory,
                 float* parts) {
  const std::int64_t floats = PartSums::floats(pass.n);
  share_out(tiles.count() * splits, [&](std::int64_t item, std::int64_t thread) {
    const TileMemory m(memory + thread * TileMemory::floats(pass.n), pass.n);
    const QueryTile tile = tiles.at(item / splits);
    const std::int64_t s = item % splits;
    if (s < pass.first_split(tile) || s >= pass.splits_end(tile)) return;
    pass.load_queries(tile, m);
    pass.attend(tile, s, m, PartSums(parts + item * floats, pass.n));
  });
  share_out(tiles.count(), [&](std::int64_t number, std::int64_t thread) {
    const TileMemory m(memory + thread * TileMemory::floats(pass.n), pass.n);
    const QueryTile tile = tiles.at(number);
    const std::int64_t rows = tile.positions * pass.n.group();
    m.all.clear(rows, pass.n.head_size);
    for (std::int64_t s = pass.first_split(tile); s < pass.splits_end(tile); ++s)
      pass.join(m.all, PartSums(parts + (number * splits + s) * floats, pass.n), rows);
    pass.write(tile, m.all);
  });
}

std::size_t floats_of_threads(const PagedSizes& n) {
  return static_cast<std::size_t>(host_concurrency() * TileMemory::floats(n));
}

}  // namespace

std::size_t paged_attention_scratch_bytes(const Shape& queries, std::int64_t kv_heads,
                                          std::int64_t context) {
  const PagedSizes n = sizes_of(queries, kv_heads, page_multiple);
  Arena measure;
  measure.take("tiles", DType::i32, {queries[0] + 1});
  measure.take("attention tiles", DType::f32, {static_cast<std::int64_t>(floats_of_threads(n))});
  measure.take("attention sums", DType::f32,
               {enough_tasks * splits_of(context) * PartSums::floats(n)});
  return measure.used();
}

void paged_attention(const Stream& stream, const Tensor& out, const Tensor& q, const Tensor& cache,
                     std::int64_t page_tokens, std::span<const PagedChunk> chunks,
                     const AttentionOptions& options, Arena& scratch) {
  check(stream.space() == MemorySpace::host, "paged attention on a device");
  check(out.shape() == q.shape() && cache.rank() == 4, "paged attention of {} into {}", q.shape(),
        out.shape());
  const PagedSizes n = sizes_of(q.shape(), cache.size(1), page_tokens);
  if (chunks.empty()) return;
  const ArenaScope scope(scratch);
  const Tensor starts = scratch.take("tiles", DType::i32, {std::ssize(chunks) + 1});
  const Tiles tiles(chunks, n, {starts.as<std::int32_t>(), chunks.size() + 1});
  float* const memory =
      scratch.take("attention tiles", DType::f32, {static_cast<std::int64_t>(floats_of_threads(n))})
          .as<float>();
  std::int64_t context = 0;
  for (const PagedChunk& chunk : chunks) context = std::max(context, chunk.past + chunk.rows);
  const std::int64_t splits = splits_of(context);
  constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max() / 2;
  with_type(cache.dtype(), [&]<class T>(Type<T>) {
    const PagedPass<T> pass{n,
                            options.scale,
                            options.soft_cap,
                            options.window > 0 ? options.window : everything,
                            q.as<float>(),
                            q.stride(0),
                            out.as<float>(),
                            out.stride(0),
                            cache.as<T>()};
    if (splits == 1 || tiles.count() >= enough_tasks) return whole_tiles(pass, tiles, memory);
    const Tensor parts =
        scratch.take("attention sums", DType::f32, {tiles.count() * splits * PartSums::floats(n)});
    split_tiles(pass, tiles, splits, memory, parts.as<float>());
  });
}

}  // namespace triax
