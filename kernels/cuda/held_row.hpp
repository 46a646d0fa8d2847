#pragma once
// Rows that a few threads hold in their registers, row_part<width> elements each
// (launch_shape.hpp), and the sums over rows that belong to their gradients.
#include "kernels/column_sum.hpp"
#include "kernels/cuda/row_sum.hpp"
#include "kernels/cuda/views.hpp"

namespace triax::cuda {

/// Calls visit(at, column) for each piece that this thread holds: elements `at` on of its part,
/// columns `column` on of the row, of which the last piece may have less than wide<T>.
template <class T, class Visit>
TRIAX_DEVICE inline void each_piece(const Block& block, int columns, const Visit& visit) {
  TRIAX_UNROLL
  for (int k = 0; k < row_part<T> / wide<T>; ++k) {
    const int column = (k * block.threads_x() + block.thread_x()) * wide<T>;
    if (column < columns) visit(k * wide<T>, column);
  }
}

/// part = the thread's elements of a row; zero where it has none.
template <bool allowed, class T>
TRIAX_DEVICE inline void load_part(const Block& block, float* part, const T* row, int columns) {
  TRIAX_UNROLL
  for (int i = 0; i < row_part<T>; ++i) part[i] = 0.0F;
  each_piece<T>(block, columns, [&](int at, int column) {
    load_piece<allowed>(part + at, row + column, columns - column);
  });
}

/// Sums over the rows of a block of rows, a value a column for each of `sums`: in shared memory, a
/// set for each row that the block works on at a time.
template <class T, int sums>
class ColumnSums {
 public:
  TRIAX_DEVICE ColumnSums(const Block& block, float* shared, int columns)
      : shared_(shared),
        columns_(columns),
        padded_(padded_columns(columns)),
        own_(shared + block.thread_y() * sums * padded_) {}

  /// Of the columns that this thread holds.
  TRIAX_DEVICE void clear(const Block& block) const {
    each_piece<T>(block, columns_, [&](int, int column) {
      TRIAX_UNROLL
      for (int s = 0; s < sums; ++s) {
        TRIAX_UNROLL
        for (int i = 0; i < wide<T>; ++i) own_[s * padded_ + column + i] = 0.0F;
      }
    });
  }

  /// sum `s` of a piece that this thread holds += values.
  TRIAX_DEVICE void add(int s, int column, const float* values) const {
    float* to = own_ + s * padded_ + column;
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) to[i] += values[i];
  }

  /// partials[s][column] = the sums over all rows of this block.
  TRIAX_DEVICE void finish(const Block& block, float* const* partials) const {
    block.sync();
    const int threads = block.threads_x() * block.threads_y();
    for (int column = block.thread_y() * block.threads_x() + block.thread_x(); column < columns_;
         column += threads) {
      TRIAX_UNROLL
      for (int s = 0; s < sums; ++s) {
        float total = 0.0F;
        for (int y = 0; y < block.threads_y(); ++y)
          total += shared_[(y * sums + s) * padded_ + column];
        partials[s][block.index_x() * columns_ + column] = total;
      }
    }
  }

 private:
  float* shared_;
  int columns_;
  int padded_;
  float* own_;
};

/// The tensors of the backward pass of a norm; residual.data may be null.
template <class T>
struct GradientRows {
  Rows<T> dx, dy, residual, x;
  const T* weight;
};

template <class T>
GradientRows<T> gradient_rows(const Tensor& dx, const Tensor& dy, const Tensor& residual,
                              const Tensor& x, const Tensor& weight) {
  const Rows<T> out = device_rows<T>(dx, "dx");
  return {out, device_rows_like(dy, out, "dy"),
          residual.empty() ? Rows<T>{} : device_rows_like(residual, out, "residual"),
          device_rows_like(x, out, "x"), device_elements<T>(weight, out.columns, "weight")};
}

/// dx = residual + gradient, for a piece of a row.
template <bool allowed, class T>
TRIAX_DEVICE inline void store_gradient(const GradientRows<T>& rows, std::int64_t row, int column,
                                        float* gradient) {
  const std::int64_t count = rows.dx.columns - column;
  if (rows.residual.data != nullptr) {
    float skip[wide<T>];
    load_piece<allowed>(skip, rows.residual[row] + column, count);
    TRIAX_UNROLL
    for (int i = 0; i < wide<T>; ++i) gradient[i] += skip[i];
  }
  store_piece<allowed>(rows.dx[row] + column, gradient, count);
}

template <class T>
bool aligned(const GradientRows<T>& rows) {
  return rows.dx.columns % wide<T> == 0 && aligned(rows.dx) && aligned(rows.dy) &&
         aligned(rows.residual) && aligned(rows.x) && aligned(rows.weight);
}

/// out[c] = partials[0][c] + partials[1][c] + ... in double, in a fixed order; plus out[c] when
/// `accumulate`. out: (columns) of any type; partials: (blocks, columns).
void add_partial_rows(const Stream& stream, const Tensor& out, const float* partials,
                      std::int64_t blocks, bool accumulate);

}  // namespace triax::cuda
