#include "kernels/embedding.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/base/parallel.hpp"
#include "kernels/base/past_caches.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_loop.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/row_order.hpp"

namespace triax {
namespace {

constexpr std::int64_t none = -1;  // no row

// Rows of a table lie anywhere, and no processor guesses where: that of the token so many rows
// later is asked for while this one is worked on.
constexpr std::int64_t ahead = 4;

// Rows of dy meet at the same row of the result, so cores share out columns, not rows: each adds
// its columns in row order, whatever the number of cores.
template <class Body>
void for_column_ranges(std::int64_t columns, const Body& body) {
  constexpr std::int64_t cache_line = 16;  // floats
  const std::int64_t share = (columns + host_concurrency() - 1) / host_concurrency();
  const std::int64_t width = (share + cache_line - 1) / cache_line * cache_line;
  parallel_for_blocks(columns, std::max(width, cache_line), body);
}

template <class G>
void clear_columns(const Rows<G>& out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = 0; r < out.rows; ++r) std::fill(out[r] + begin, out[r] + end, G{});
}

template <class G, class T, class Later>
void add_columns(G* to, const T* from, const Later* later, std::int64_t begin, std::int64_t end) {
  for_vectors(begin, end, [=](std::int64_t c, auto lanes) {
    prefetch(later + c);
    lanes.store(to + c, lanes.load(to + c) + lanes.load(from + c));
  });
}

template <class To, class From>
void copy_columns(To* to, const From* from, const From* later, std::int64_t columns) {
  for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
    prefetch(later + c);
    lanes.store(to + c, lanes.load(from + c));
  });
}

// Columns [begin, end) of `to` += those of rows r, next(r), ... of dy, up to `none`: summed in
// float32 and rounded once.
template <class G, class T, class Next>
void add_chain(G* to, const G* later_to, const Rows<T>& dy, std::int64_t r, const Next& next,
               std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t tile = 1024;  // columns whose sums stay in L1
  for (std::int64_t at = begin; at < end; at += tile) {
    float sums[tile];
    const std::int64_t count = std::min(tile, end - at);
    copy_columns(sums, to + at, later_to + at, count);
    for (std::int64_t row = r; row != none; row = next(row)) {
      std::int64_t later = next(row);
      if (later != none) later = next(later);
      add_columns(sums, dy[row] + at, dy[later == none ? row : later] + at, 0, count);
    }
    copy_columns(to + at, sums, sums, count);
  }
}

// table[target(r)] += dy[r] in row order, for the rows whose target is not `none`. In float32 row
// by row; in 16 bits all rows of a target at once, from the first of them on: first(target(r)) is
// the first row with the target of r, and next(r) the next one after r.
template <class G, class T, class Target, class First, class Next>
void scatter_rows(const Rows<G>& table, const Rows<T>& dy, bool accumulate, const Target& target,
                  const First& first, const Next& next) {
  for_column_ranges(dy.columns, [=](std::int64_t begin, std::int64_t end) {
    if (!accumulate) clear_columns(table, begin, end);
    for (std::int64_t r = 0; r < dy.rows; ++r) {
      const std::int64_t t = target(r);
      if (t == none) continue;
      const std::int64_t later = target(std::min(r + ahead, dy.rows - 1));
      G* to = table[t];
      // Of rows in order the processor knows by itself.
      const G* later_to = later == none || later == t + ahead ? to : table[later];
      if constexpr (std::is_same_v<G, float>)
        add_columns(to, dy[r], later_to, begin, end);
      else if (first(t) == r)
        add_chain(to, later_to, dy, r, next, begin, end);
    }
  });
}

// The rows of each token of a shard, chained in order: the first, and from each the next.
struct Chains {
  void take(Arena& scratch, std::int64_t rows, std::int64_t vocabulary) {
    first = scratch.take("first rows", DType::i32, {vocabulary}).as<std::int32_t>();
    next = scratch.take("next rows", DType::i32, {rows}).as<std::int32_t>();
  }
  template <class Target>
  void link(std::int64_t rows, std::int64_t vocabulary, const Target& target) const {
    std::fill_n(first, vocabulary, std::int32_t{none});
    for (std::int64_t r = rows - 1; r >= 0; --r)
      if (const std::int64_t t = target(r); t != none)
        next[r] = std::exchange(first[t], static_cast<std::int32_t>(r));
  }

  std::int32_t* first = nullptr;
  std::int32_t* next = nullptr;
};

// to = from, bit for bit, while memory fetches the row that is copied later.
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

}  // namespace

void embedding_forward(const Stream& stream, const Tensor& y, const Tensor& tokens,
                       const Tensor& weight, std::int64_t first_token) {
  if (on_device(stream)) return cuda::embedding_forward(stream, y, tokens, weight, first_token);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> table = rows_of<T>(weight, "weight");
    const std::int32_t* ids = elements_of<std::int32_t>(tokens, out.rows, "tokens");
    check(table.columns == out.columns, "embedding of {} columns into {}", table.columns,
          out.columns);
    const auto row_of = [=](std::int64_t r) -> const T* {
      const std::int64_t row = ids[r] - first_token;
      return ids[r] >= 0 && row >= 0 && row < table.rows ? table[row] : nullptr;
    };
    const bool past = past_caches(y, {});
    parallel_for(out.rows, [=](std::int64_t r) {
      const T* later = row_of(std::min(r + ahead, out.rows - 1));
      T* to = out[r];
      if (const T* from = row_of(r))
        copy_row(to, from, later == nullptr ? from : later, out.columns, past);
      else
        std::fill_n(to, out.columns, T{});
    });
  });
}

void embedding_backward(const Stream& stream, const Tensor& dweight, const Tensor& tokens,
                        const Tensor& dy, std::int64_t first_token, bool accumulate,
                        Arena& scratch) {
  if (on_device(stream))
    return cuda::embedding_backward(stream, dweight, tokens, dy, first_token, accumulate, scratch);
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
    Chains chains;
    if constexpr (!std::is_same_v<G, float>) {
      chains.take(scratch, in.rows, table.rows);
      chains.link(in.rows, table.rows, target);
    }
    scatter_rows(
        table, in, accumulate, target, [=](std::int64_t t) { return chains.first[t]; },
        [=](std::int64_t r) { return chains.next[r]; });
  });
}

std::size_t embedding_scratch_bytes(DType dweight, const Shape& dy, std::int64_t vocabulary,
                                    MemorySpace space) {
  Arena measure;
  if (space == MemorySpace::device)
    cuda::RowOrder(measure, dy[0], dy[1]);
  else if (dweight != DType::f32)
    Chains().take(measure, dy[0], vocabulary);
  return measure.used();
}

void position_forward(const Stream& stream, const Tensor& y, const Tensor& weight,
                      std::int64_t first_row, std::int64_t sequence_length) {
  if (on_device(stream))
    return cuda::position_forward(stream, y, weight, first_row, sequence_length);
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> table = rows_of<T>(weight, "weight");
    check(table.columns == out.columns && table.rows >= sequence_length && sequence_length > 0,
          "positions {} for sequences of {} and {} columns", weight.shape(), sequence_length,
          out.columns);
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const T* from = table[(first_row + r) % sequence_length];
      add_columns(to, from, from, 0, out.columns);
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
    const std::int64_t start = first_row % sequence_length;  // the position of row 0
    scatter_rows(
        table, in, accumulate, [=](std::int64_t r) { return (start + r) % sequence_length; },
        [=](std::int64_t t) { return t - start + (t < start ? sequence_length : 0); },
        [=](std::int64_t r) { return r + sequence_length < in.rows ? r + sequence_length : none; });
  });
}

}  // namespace triax
