#pragma once
// What the backward passes of the norms have in common: one row at a time, with a residual to add.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_loop.hpp"
#include "kernels/column_sum.hpp"

namespace triax {

/// The pointers of one row of the backward pass; residual may be null.
template <class T>
struct GradientRow {
  T* dx;
  const T* dy;
  const T* residual;
  const T* x;
};

/// dx[c] = residual[c] + gradient(c, lanes), a vector from column c on; without a residual, the
/// gradient alone.
template <class T, class Gradient>
inline void store_gradient(const GradientRow<T>& row, std::int64_t columns,
                           const Gradient& gradient) {
  T* dx = row.dx;
  if (const T* residual = row.residual) {
    for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
      lanes.store(dx + c, lanes.stream(residual + c) + gradient(c, lanes));
    });
  } else {
    for_vectors(0, columns,
                [=](std::int64_t c, auto lanes) { lanes.store(dx + c, gradient(c, lanes)); });
  }
}

/// Calls backward_row(GradientRow<T>, sums) for every row of dx, dy, residual (may be empty) and x,
/// all of one shape. `sums`, an array of pointers, are the columns' sums so far of each of
/// `partials`, (row_blocks, columns) each, of which a block of rows has a row.
template <class T, std::size_t count, class BackwardRow>
void for_each_gradient_row(const Tensor& dx, const Tensor& dy, const Tensor& residual,
                           const Tensor& x, const std::array<float*, count>& partials,
                           const BackwardRow& backward_row) {
  const Rows<T> out = rows_of<T>(dx, "dx");
  const Rows<T> upstream = rows_like(dy, out, "dy");
  const Rows<T> in = rows_like(x, out, "x");
  const Rows<T> skip = residual.empty() ? Rows<T>{} : rows_like(residual, out, "residual");
  parallel_for(row_blocks(out.rows), [=](std::int64_t b) {
    std::array<float*, count> sums = partials;
    for (float*& block : sums) std::fill_n(block += b * out.columns, out.columns, 0.0F);
    const std::int64_t end = std::min(out.rows, (b + 1) * rows_per_block);
    for (std::int64_t r = b * rows_per_block; r < end; ++r)
      backward_row(GradientRow<T>{out[r], upstream[r], skip.data ? skip[r] : nullptr, in[r]}, sums);
  });
}

}  // namespace triax
