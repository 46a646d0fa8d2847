// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include <algorithm>
#include <type_traits>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/embedding/row_order.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/norm/row_sums.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {

constexpr std::int64_t none = -1;  // no row

// Distance in tokens of prefetching: rows of a table are in random order, which no processor
// predicts.
constexpr std::int64_t ahead = 4;

template <class G>
void clear_rows(const Rows<G>& out) {
  parallel_for(out.rows, [=](std::int64_t r) { std::fill_n(out[r], out.columns, G{}); });
}

// Columns [begin, end) of `to` += those of row_at(first), ..., row_at(last - 1), summed in float32
// in that order and rounded once. row_at, other_at and scale as in add_rows().
template <class G, class RowAt, class OtherAt, class Scale = Unscaled>
void add_run(G* to, std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t last,
             const RowAt& row_at, const OtherAt& other_at, const Scale& scale = {}) {
  constexpr std::int64_t tile = 1024;  // columns; their sums stay in L1
  for (std::int64_t at = begin; at < end; at += tile) {
    const std::int64_t columns = std::min(tile, end - at);
    const auto row = [=](std::int64_t i) { return row_at(i) + at; };
    const auto other = [=](std::int64_t i) { return other_at(i) + at; };
    const auto add = [=](auto* sums, const auto* from, std::int64_t i) {
      add_rows(sums, from, columns, i, std::min(rows_at_once, last - i), row, other, scale);
    };
    std::int64_t i = first;
    if constexpr (std::is_same_v<G, float>) {
      for (; i < last; i += rows_at_once) add(to + at, to + at, i);
    } else if (last - first <= rows_at_once) {
      add(to + at, to + at, i);
    } else {
      float sums[tile];
      add(sums, to + at, i);
      for (i += rows_at_once; i + rows_at_once < last; i += rows_at_once) add(sums, sums, i);
      add(to + at, sums, i);
    }
  }
}

// Rows of a micro-batch whose tokens belong to this shard, sorted by token and, within a token, by
// row.
struct TokenOrder {
  void take(Arena& scratch, std::int64_t rows, std::int64_t vocabulary) {
    ends = scratch.take("ends of tokens", DType::i32, {vocabulary + 1}).as<std::int32_t>();
    row = scratch.take("row order", DType::i32, {rows}).as<std::int32_t>();
  }
  // target(r) is the token of row r in this shard, or `none`.
  template <class Target>
  void sort(std::int64_t rows, std::int64_t vocabulary, const Target& target) {
    std::fill_n(ends, vocabulary + 1, 0);
    for (std::int64_t r = 0; r < rows; ++r)
      if (const std::int64_t t = target(r); t != none) ++ends[t + 1];
    for (std::int64_t t = 0; t < vocabulary; ++t) {
      longest = std::max(longest, std::int64_t{ends[t + 1]});
      ends[t + 1] += ends[t];
    }
    count = ends[vocabulary];
    // ends[t] starts as the first index of token t and reaches its end as rows are placed.
    for (std::int64_t r = 0; r < rows; ++r)
      if (const std::int64_t t = target(r); t != none)
        row[ends[t]++] = static_cast<std::int32_t>(r);
  }

  std::int32_t* ends = nullptr;  // end of each token's rows in `row`
  std::int32_t* row = nullptr;
  std::int64_t count = 0;
  std::int64_t longest = 0;  // most rows of any one token
};

// Columns per task. All columns at once suit memory best, unless one token has so many rows that
// its core would finish after all others. The cut does not change the sums.
std::int64_t columns_of_a_run(std::int64_t columns, const TokenOrder& order) {
  constexpr std::int64_t cache_line = 32;  // in 16-bit numbers
  constexpr std::int64_t parts = 4;        // one task may take up to 1/4 of a core's work
  const std::int64_t cores = host_concurrency();
  const std::int64_t pieces = std::clamp<std::int64_t>(
      parts * order.longest * cores / std::max<std::int64_t>(1, order.count), 1, cores);
  const std::int64_t width = (columns + pieces - 1) / pieces;
  return std::max(cache_line, (width + cache_line - 1) / cache_line * cache_line);
}

// table[target(r)] += scaled dy[r] for the rows of `order`. A task handles the rows of one token
// and one range of columns; tasks that do not begin a token return at once.
template <class G, class T, class Target, class Scale>
void scatter_rows(const Rows<G>& table, const Rows<T>& dy, const TokenOrder& order,
                  const Target& target, const Scale& scale) {
  const auto row_number = [=](std::int64_t i) { return order.row[std::min(i, order.count - 1)]; };
  const auto row_at = [=](std::int64_t i) -> const T* { return dy[row_number(i)]; };
  const auto other_at = [=](std::int64_t i) -> const G* { return table[target(row_number(i))]; };
  const std::int64_t width = columns_of_a_run(dy.columns, order);
  const std::int64_t pieces = (dy.columns + width - 1) / width;
  parallel_for(pieces * order.count, [=](std::int64_t task) {
    const std::int64_t i = task % order.count;
    const std::int64_t t = target(order.row[i]);
    if (i > 0 && target(order.row[i - 1]) == t) return;
    const std::int64_t begin = task / order.count * width;
    add_run(table[t], begin, std::min(dy.columns, begin + width), i, order.ends[t], row_at,
            other_at, scale);
  });
}

// to = from, bit for bit; prefetches the row that is copied `ahead` rows later.
template <class T>
void copy_row(T* to, const T* from, const T* later, std::int64_t columns, bool past) {
  constexpr std::int64_t step = vector_bytes / static_cast<std::int64_t>(sizeof(T));
  std::int64_t c = 0;
  for (; c + step <= columns; c += step) {
    prefetch(later + c);
    const auto bits = detail::load_bits<FloatVector>(from + c);
    past ? detail::write_past_caches(to + c, bits) : detail::store_bits(to + c, bits);
  }
  std::copy(from + c, from + columns, to + c);
}

// to = scale * from, with copy_row's prefetch.
template <class T, class W>
void scale_row(T* to, const W* from, const W* later, std::int64_t columns, float scale, bool past) {
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    prefetch(later + c);
    lanes.write(to + c, lanes.load(from + c) * scale, past);
  });
}

}  // namespace

void embedding_forward(const Stream& stream, const Tensor& y, const Tensor& tokens,
                       const Tensor& weight, std::int64_t first_token, float scale) {
  if (on_device(stream))
    return cuda::embedding_forward(stream, y, tokens, weight, first_token, scale);
  with_types(weight.dtype(), y.dtype(), [&]<class W, class T>(Type<W>, Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<W> table = rows_of<W>(weight, "weight");
    const std::int32_t* ids = elements_of<std::int32_t>(tokens, out.rows, "tokens");
    check(table.columns == out.columns, "embedding of {} columns into {}", table.columns,
          out.columns);
    const auto row_of = [=](std::int64_t r) -> const W* {
      const std::int64_t row = ids[r] - first_token;
      return ids[r] >= 0 && row >= 0 && row < table.rows ? table[row] : nullptr;
    };
    const bool past = past_caches(y, {});
    parallel_for(out.rows, [=](std::int64_t r) {
      const W* later = row_of(std::min(r + ahead, out.rows - 1));
      T* to = out[r];
      const W* from = row_of(r);
      if (from == nullptr) return void(std::fill_n(to, out.columns, T{}));
      if (later == nullptr) later = from;
      if constexpr (std::is_same_v<W, T>)
        if (scale == 1.0F) return copy_row(to, from, later, out.columns, past);
      scale_row(to, from, later, out.columns, scale, past);
    });
  });
}

void embedding_backward(const Stream& stream, const Tensor& dweight, const Tensor& tokens,
                        const Tensor& dy, std::int64_t first_token, bool accumulate, Arena& scratch,
                        float scale) {
  if (on_device(stream))
    return cuda::embedding_backward(stream, dweight, tokens, dy, first_token, accumulate, scratch,
                                    scale);
  with_types(dy.dtype(), dweight.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    const Rows<T> in = rows_of<T>(dy, "dy");
    const Rows<G> table = rows_of<G>(dweight, "dweight");
    const std::int32_t* ids = elements_of<std::int32_t>(tokens, in.rows, "tokens");
    check(table.columns == in.columns, "embedding of {} columns into {}", table.columns,
          in.columns);
    const auto target = [=](std::int64_t r) {
      const std::int64_t row = ids[r] - first_token;
      return ids[r] >= 0 && row >= 0 && row < table.rows ? row : none;
    };
    const ArenaScope scope(scratch);
    TokenOrder order;
    order.take(scratch, in.rows, table.rows);
    order.sort(in.rows, table.rows, target);
    if (!accumulate) clear_rows(table);
    if (scale == 1.0F)
      scatter_rows(table, in, order, target, Unscaled{});
    else
      scatter_rows(table, in, order, target, ScaledBy{scale});
  });
}

std::size_t embedding_scratch_bytes(const Shape& dy, std::int64_t vocabulary, MemorySpace space) {
  Arena measure;
  if (space == MemorySpace::device)
    cuda::RowOrder(measure, dy[0], dy[1]);
  else
    TokenOrder().take(measure, dy[0], vocabulary);
  return measure.used();
}

void position_forward(const Stream& stream, const Tensor& y, const Tensor& weight,
                      std::int64_t first_row, std::int64_t sequence_length) {
  if (on_device(stream))
    return cuda::position_forward(stream, y, weight, first_row, sequence_length);
  with_types(weight.dtype(), y.dtype(), [&]<class W, class T>(Type<W>, Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<W> table = rows_of<W>(weight, "weight");
    check(table.columns == out.columns && table.rows >= sequence_length && sequence_length > 0,
          "positions {} for sequences of {} and {} columns", weight.shape(), sequence_length,
          out.columns);
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const W* from = table[(first_row + r) % sequence_length];
      for_vectors(0, out.columns, [=](std::int64_t c, auto lanes) {
        lanes.store(to + c, lanes.load(to + c) + lanes.load(from + c));
      });
    });
  });
}

void position_backward(const Stream& stream, const Tensor& dweight, const Tensor& dy,
                       std::int64_t first_row, std::int64_t sequence_length, bool accumulate) {
  if (on_device(stream))
    return cuda::position_backward(stream, dweight, dy, first_row, sequence_length, accumulate);
  with_types(dy.dtype(), dweight.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    const Rows<T> in = rows_of<T>(dy, "dy");
    const Rows<G> table = rows_of<G>(dweight, "dweight");
    check(table.columns == in.columns && table.rows >= sequence_length && sequence_length > 0,
          "positions {} for sequences of {} and {} columns", dweight.shape(), sequence_length,
          in.columns);
    if (!accumulate) clear_rows(table);
    const std::int64_t start = first_row % sequence_length;  // the position of row 0
    parallel_for(std::min(in.rows, sequence_length), [=](std::int64_t first) {
      const std::int64_t count = (in.rows - first + sequence_length - 1) / sequence_length;
      // After the rows of this position come those of the next one, to prefetch.
      const auto row_at = [=](std::int64_t i) -> const T* {
        return in[std::min(first + i / count + i % count * sequence_length, in.rows - 1)];
      };
      add_run(table[(start + first) % sequence_length], 0, in.columns, 0, count, row_at,
              [](std::int64_t) { return NoRow{}; });
    });
  });
}

}  // namespace triax
