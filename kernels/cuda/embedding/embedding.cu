// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/embedding/sort_rows.hpp"
#include "kernels/cuda/kernels.hpp"

namespace triax::cuda {
namespace {

// y[r] = the row of r's target, times `scale` if `scaled`; zero without a target.
template <class T, bool scaled>
struct Look {
  Rows<T> y, table;
  Targets target;
  float scale;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t r, std::int64_t column) const {
    const std::int64_t row = target(r);
    float values[n] = {};
    if (row != none) load<n>(values, table[row] + column);
    if constexpr (scaled) {
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) values[i] *= scale;
    }
    store<n>(y[r] + column, values);
  }
};

template <class T, bool scaled>
void look(const Stream& stream, const Look<T, scaled>& body) {
  tiles<wide<T>>(stream, body.y.rows, body.y.columns, aligned(body.y) && aligned(body.table), body);
}

// sum[0, n) += scale times columns [column, column + n) of the segment that begins with the k-th
// row in order. On a GPU the product costs nothing and, for a scale of 1, changes no bit: it is
// fused with the sum.
template <int n, class T>
TRIAX_DEVICE inline void add_segment(float* sum, const RowOrder& order, const Rows<T>& dy,
                                     std::int64_t k, std::int64_t column, float scale) {
  const int left = order.left[k];
  const int count = left < segment_rows ? left : static_cast<int>(segment_rows);
  for (int i = 0; i < count; ++i) {
    float values[n];
    load<n>(values, dy[order.row[k + i]] + column);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) sum[j] += scale * values[j];
  }
}

// Sums of the segments that are not the first of their target. In a window of segment_rows rows at
// most one such segment begins, and it belongs to the target of the window's first row: a target
// that starts later in the window has its second segment beyond it.
template <class T>
struct SumSegments {
  RowOrder order;
  Rows<T> dy;
  Targets target;
  float scale;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t segment, std::int64_t column) const {
    const std::int64_t first = segment * segment_rows;
    if (target(order.row[first]) == none) return;
    const int before = order.before[first];
    const std::int64_t ahead = (segment_rows - before % segment_rows) % segment_rows;
    if (before == 0 || ahead >= order.left[first]) return;
    float sum[n] = {};
    add_segment<n>(sum, order, dy, first + ahead, column, scale);
    store<n>(order.sums + segment * dy.columns + column, sum);
  }
};

// table[t] += scale times the rows of dy whose target is t. The thread of the target's first row
// adds the first segment and the sums of the other segments.
template <class G, class T>
struct SumRowsOfTargets {
  Rows<G> table;
  Rows<T> dy;
  Targets target;
  RowOrder order;
  float scale;
  bool accumulate;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t k, std::int64_t column) const {
    if (order.before[k] != 0) return;
    const std::int64_t t = target(order.row[k]);
    if (t == none) return;
    float sum[n] = {};
    if (accumulate) load<n>(sum, table[t] + column);
    add_segment<n>(sum, order, dy, k, column, scale);
    const std::int64_t end = k + order.left[k];
    for (std::int64_t at = k + segment_rows; at < end; at += segment_rows) {
      float more[n];
      load<n>(more, order.sums + at / segment_rows * dy.columns + column);
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) sum[i] += more[i];
    }
    store<n>(table[t] + column, sum);
  }
};

template <class G>
struct Clear {
  Rows<G> table;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    const float zeros[n] = {};
    store<n>(table[row] + column, zeros);
  }
};

template <class T>
struct AddPositions {
  Rows<T> y, table;
  std::int64_t first_row;
  std::int64_t length;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t r, std::int64_t column) const {
    float sum[n], more[n];
    load<n>(sum, y[r] + column);
    load<n>(more, table[(first_row + r) % length] + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) sum[i] += more[i];
    store<n>(y[r] + column, sum);
  }
};

// table[t] += the rows of dy at position t, in row order. start: the position of row 0.
template <class G, class T>
struct SumRowsOfPositions {
  Rows<G> table;
  Rows<T> dy;
  std::int64_t start;
  std::int64_t length;
  bool accumulate;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t t, std::int64_t column) const {
    float sum[n] = {};
    if (accumulate) load<n>(sum, table[t] + column);
    if (t < length)
      for (std::int64_t r = t - start + (t < start ? length : 0); r < dy.rows; r += length) {
        float values[n];
        load<n>(values, dy[r] + column);
        TRIAX_UNROLL
        for (int i = 0; i < n; ++i) sum[i] += values[i];
      }
    store<n>(table[t] + column, sum);
  }
};

template <class G, class T>
inline constexpr int widest = wide<G> > wide<T> ? wide<G> : wide<T>;

}  // namespace

void embedding_forward(const Stream& stream, const Tensor& y, const Tensor& tokens,
                       const Tensor& weight, std::int64_t first_token, float scale) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> table = device_rows<T>(weight, "weight");
    const auto* ids = device_elements<std::int32_t>(tokens, out.rows, "tokens");
    check(table.columns == out.columns, "embedding of {} columns into {}", table.columns,
          out.columns);
    const Targets target{ids, first_token, table.rows};
    if (scale == 1.0F)
      look(stream, Look<T, false>{out, table, target, scale});
    else
      look(stream, Look<T, true>{out, table, target, scale});
  });
}

void embedding_backward(const Stream& stream, const Tensor& dweight, const Tensor& tokens,
                        const Tensor& dy, std::int64_t first_token, bool accumulate, Arena& scratch,
                        float scale) {
  const ArenaScope scope(scratch);
  with_types(dy.dtype(), dweight.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    const Rows<T> in = device_rows<T>(dy, "dy");
    const Rows<G> table = device_rows<G>(dweight, "dweight");
    const auto* ids = device_elements<std::int32_t>(tokens, in.rows, "tokens");
    check(table.columns == in.columns, "embedding of {} columns into {}", table.columns,
          in.columns);
    const Targets target{ids, first_token, table.rows};
    const RowOrder order(scratch, in.rows, in.columns);
    const bool allowed = aligned(in) && aligned(table);
    if (!accumulate)
      tiles<wide<G>>(stream, table.rows, table.columns, aligned(table), Clear<G>{table});
    put_in_order(stream, order, target, in.rows);
    tiles<wide<T>>(stream, RowOrder::segments(in.rows), in.columns, aligned(in),
                   SumSegments<T>{order, in, target, scale});
    tiles<widest<G, T>>(stream, in.rows, in.columns, allowed,
                        SumRowsOfTargets<G, T>{table, in, target, order, scale, accumulate});
  });
}

void position_forward(const Stream& stream, const Tensor& y, const Tensor& weight,
                      std::int64_t first_row, std::int64_t sequence_length) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> table = device_rows<T>(weight, "weight");
    check(table.columns == out.columns && table.rows >= sequence_length && sequence_length > 0,
          "positions {} for sequences of {} and {} columns", weight.shape(), sequence_length,
          out.columns);
    tiles<wide<T>>(stream, out.rows, out.columns, aligned(out) && aligned(table),
                   AddPositions<T>{out, table, first_row, sequence_length});
  });
}

void position_backward(const Stream& stream, const Tensor& dweight, const Tensor& dy,
                       std::int64_t first_row, std::int64_t sequence_length, bool accumulate) {
  with_types(dy.dtype(), dweight.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    const Rows<T> in = device_rows<T>(dy, "dy");
    const Rows<G> table = device_rows<G>(dweight, "dweight");
    check(table.columns == in.columns && table.rows >= sequence_length && sequence_length > 0,
          "positions {} for sequences of {} and {} columns", dweight.shape(), sequence_length,
          in.columns);
    tiles<widest<G, T>>(stream, table.rows, table.columns, aligned(in) && aligned(table),
                        SumRowsOfPositions<G, T>{table, in, first_row % sequence_length,
                                                 sequence_length, accumulate});
  });
}

}  // namespace triax::cuda
