// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows held in registers by a few threads, row_part<T> elements each (launch_shape.hpp), and the
// sums over rows for their gradients. Rows are held in their own type: 16-bit elements take half
// the registers of floats. A row is read completely before its first result is written, because the
// compiler moves no read past a write that may alias it.
#include "kernels/cuda/launch/views.hpp"
#include "kernels/cuda/norm/row_sum.hpp"
#include "kernels/norm/column_sum.hpp"

namespace triax::cuda {

/// Calls visit(at, column) for each piece that this thread holds: `at` is its first element in the
/// thread's share, `column` its first column in the row. The last piece of a row may have fewer
/// than wide<T> elements.
template <class T, class Visit>
TRIAX_DEVICE inline void each_piece(const Block& block, int columns, const Visit& visit) {
  TRIAX_UNROLL
  for (int k = 0; k < row_part<T> / wide<T>; ++k) {
    const int column = (k * block.threads_x() + block.thread_x()) * wide<T>;
    if (column < columns) visit(k * wide<T>, column);
  }
}

/// A thread's share of a row.
template <class T>
struct HeldRow {
  Piece pieces[row_pieces];

  /// to[0, wide<T>) = the elements of the share from `at` on.
  TRIAX_DEVICE void get(float* to, int at) const { unpack<T>(to, pieces[at / wide<T>]); }
  TRIAX_DEVICE void set(int at, const float* from) { pieces[at / wide<T>] = packed<T>(from); }

  /// Loads the share; elements beyond the row are zero.
  template <bool allowed>
  TRIAX_DEVICE void load(const Block& block, const T* row, int columns) {
    TRIAX_UNROLL
    for (Piece& piece : pieces) piece = {};
    each_piece<T>(block, columns, [&](int at, int column) {
      pieces[at / wide<T>] = piece_at<allowed>(row + column, columns - column);
    });
  }
  template <bool allowed>
  TRIAX_DEVICE void store(const Block& block, T* row, int columns) const {
    each_piece<T>(block, columns, [&](int at, int column) {
      put_piece<allowed>(row + column, pieces[at / wide<T>], columns - column);
    });
  }
};

/// Rows read from memory.
template <class T>
struct StoredRows {
  Rows<T> x;

  template <bool allowed>
  TRIAX_DEVICE void load(const Block& block, HeldRow<T>& part, std::int64_t row,
                         int columns) const {
    part.template load<allowed>(block, x[row], columns);
  }
};

/// Rows computed as they are loaded, and written too: sum = x + a + bias. bias may be null.
template <class T>
struct ResidualRows {
  Rows<T> sum, x, a;
  const T* bias;

  template <bool allowed>
  TRIAX_DEVICE void load(const Block& block, HeldRow<T>& part, std::int64_t row,
                         int columns) const {
    part.template load<allowed>(block, x[row], columns);
    HeldRow<T> added;
    added.template load<allowed>(block, a[row], columns);
    each_piece<T>(block, columns, [&](int at, int column) {
      float values[wide<T>], more[wide<T>];
      part.get(values, at);
      added.get(more, at);
      if (bias != nullptr) {
        float shift[wide<T>];
        load_piece<allowed>(shift, bias + column, columns - column);
        TRIAX_UNROLL
        for (int i = 0; i < wide<T>; ++i) more[i] += shift[i];
      }
      TRIAX_UNROLL
      for (int i = 0; i < wide<T>; ++i) values[i] += more[i];
      part.set(at, values);
    });
    part.template store<allowed>(block, sum[row], columns);
  }
};

template <class T>
ResidualRows<T> residual_rows(const Tensor& sum, const Tensor& x, const Tensor& a,
                              const Tensor& bias) {
  const Rows<T> out = device_rows<T>(sum, "sum");
  return {out, device_rows_like(x, out, "x"), device_rows_like(a, out, "a"),
          bias.empty() ? nullptr : device_elements<T>(bias, out.columns, "bias")};
}

template <class T>
bool aligned(const StoredRows<T>& rows) {
  return aligned(rows.x);
}
template <class T>
bool aligned(const ResidualRows<T>& rows) {
  return aligned(rows.sum) && aligned(rows.x) && aligned(rows.a) && aligned(rows.bias);
}

/// Sums over the rows of a CUDA block: one value per column for each of `sums`, in shared memory,
/// one set per row that the block works on at a time. Neighbouring lanes access neighbouring groups
/// of four words, which lie in different banks.
template <class T, int sums>
class ColumnSums {
 public:
  TRIAX_DEVICE ColumnSums(const Block& block, float* shared, int columns)
      : shared_(shared),
        columns_(columns),
        of_thread_(held_by_thread(columns, block.threads_x(), wide<T>)),
        of_row_(of_thread_ * block.threads_x()),
        own_(shared + block.thread_y() * sums * of_row_ + place(block.thread_x())) {}

  /// Clears the columns that this thread holds.
  TRIAX_DEVICE void clear(const Block& block) const {
    const float zeros[4] = {};
    each_piece<T>(block, columns_, [&](int at, int) {
      TRIAX_UNROLL
      for (int s = 0; s < sums; ++s) {
        TRIAX_UNROLL
        for (int i = 0; i < wide<T>; i += 4) store<4>(own_ + s * of_row_ + offset(at + i), zeros);
      }
    });
  }

  /// Adds `values` to sum `s` of the piece that begins at element `at` of this thread's share.
  TRIAX_DEVICE void add(int s, int at, const float* values) const {
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; i += 4) {
      float* const to = own_ + s * of_row_ + offset(at + i);
      float sum[4];
      load<4>(sum, to);
      TRIAX_UNROLL
      for (int j = 0; j < 4; ++j) sum[j] += values[i + j];
      store<4>(to, sum);
    }
  }

  /// partials[s][column] = the sums over all rows of this CUDA block.
  TRIAX_DEVICE void finish(const Block& block, float* const* partials) const {
    block.sync();
    const int threads = block.threads_x() * block.threads_y();
    for (int column = block.thread_y() * block.threads_x() + block.thread_x(); column < columns_;
         column += threads) {
      const int piece = column / wide<T>;
      const int at = piece / block.threads_x() * wide<T> + column % wide<T>;
      const int from = place(piece % block.threads_x()) + offset(at);
      TRIAX_UNROLL
      for (int s = 0; s < sums; ++s) {
        float total = 0.0F;
        for (int y = 0; y < block.threads_y(); ++y)
          total += shared_[(y * sums + s) * of_row_ + from];
        partials[s][block.index_x() * columns_ + column] = total;
      }
    }
  }

 private:
  // place: offset of a thread's first value. offset: distance from it to element `at` of the
  // thread's share.
  TRIAX_DEVICE int place(int thread) const {
    return thread / warp * warp * of_thread_ + thread % warp * 4;
  }
  TRIAX_DEVICE static int offset(int at) { return at / 4 * 4 * warp + at % 4; }

  float* shared_;
  int columns_;
  int of_thread_;
  int of_row_;
  float* own_;
};

/// Tensors of a norm's backward pass. residual.data may be null.
template <class T>
struct GradientRows {
  Rows<T> dx, dy, residual, x;
  const T* weight;
};

/// Runs a CUDA block over its `of_block` rows, threads_y at a time: calls of_row(sums, row, held)
/// for each, where `held` is the number of columns, or 0 if the row does not belong to the block,
/// and then writes the sums to `partials`. shared: memory for the sums.
template <class T, int count, class Row>
TRIAX_DEVICE inline void each_gradient_row(const Block& block, float* shared,
                                           const GradientRows<T>& rows, std::int64_t of_block,
                                           float* const (&partials)[count], const Row& of_row) {
  const auto columns = static_cast<int>(rows.dx.columns);
  const ColumnSums<T, count> sums(block, shared, columns);
  sums.clear(block);
  const std::int64_t begin = block.index_x() * of_block;
  const std::int64_t end = begin + of_block < rows.dx.rows ? begin + of_block : rows.dx.rows;
  for (std::int64_t first = begin; first < end; first += block.threads_y()) {
    const std::int64_t row = first + block.thread_y();
    of_row(sums, row, row < end ? columns : 0);
  }
  sums.finish(block, partials);
}

template <class T>
GradientRows<T> gradient_rows(const Tensor& dx, const Tensor& dy, const Tensor& residual,
                              const Tensor& x, const Tensor& weight) {
  const Rows<T> out = device_rows<T>(dx, "dx");
  return {out, device_rows_like(dy, out, "dy"),
          residual.empty() ? Rows<T>{} : device_rows_like(residual, out, "residual"),
          device_rows_like(x, out, "x"), device_elements<T>(weight, out.columns, "weight")};
}

/// Operands of the gradient of a row. The residual is zero if there is none.
template <class T>
struct HeldGradient {
  HeldRow<T> x, dy, residual;

  template <bool allowed>
  TRIAX_DEVICE void load(const Block& block, const GradientRows<T>& rows, std::int64_t row,
                         int columns) {
    x.template load<allowed>(block, rows.x[row], columns);
    dy.template load<allowed>(block, rows.dy[row], columns);
    const bool has_residual = rows.residual.data != nullptr;
    residual.template load<allowed>(block, has_residual ? rows.residual[row] : nullptr,
                                    has_residual ? columns : 0);
  }
};

template <class T>
bool aligned(const GradientRows<T>& rows) {
  return rows.dx.columns % wide<T> == 0 && aligned(rows.dx) && aligned(rows.dy) &&
         aligned(rows.residual) && aligned(rows.x) && aligned(rows.weight);
}

/// out[c] = partials[0][c] + partials[1][c] + ... in double, in a fixed order; plus out[c] with
/// `accumulate`. out: (columns) of any type; partials: (blocks, columns).
struct PartialRows {
  Tensor out;
  const float* partials;
};
void add_partial_rows(const Stream& stream, const PartialRows& rows, std::int64_t blocks,
                      bool accumulate);
/// Sums two matrices of the same type and shape at once.
void add_partial_rows(const Stream& stream, const PartialRows& first, const PartialRows& second,
                      std::int64_t blocks, bool accumulate);

}  // namespace triax::cuda
