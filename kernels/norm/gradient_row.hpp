// SPDX-License-Identifier: Apache-2.0
#pragma once
// Row loop shared by the backward passes of the norms: one or two rows at a time, with an optional
// residual gradient to add.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/base/rows.hpp"
#include "kernels/norm/column_sum.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"
#include "kernels/simd/vector_math.hpp"

namespace triax {

/// Pointers of one row in the backward pass. residual may be null; `past` writes dx past the
/// caches.
template <class T>
struct GradientRow {
  T* dx;
  const T* dy;
  const T* residual;
  const T* x;
  bool past;
};

/// Rows processed together, limited by the number of registers. Sums of one row overlap with those
/// of the other; weights are widened, and column sums loaded and stored, once for both.
inline constexpr std::size_t rows_side_by_side = vector_registers == 32 ? 2 : 1;

/// A row's gradient as two factors, so that multiply_add can add it to the residual.
struct GradientFactors {
  float factor;
  FloatVector rest;
};

/// dx[c] = residual[c] + gradients(c, lanes)[r] for each row r, one vector from column c on;
/// without a residual, dx is the gradient alone.
template <class T, std::size_t n, class Gradients>
inline void store_gradients(const std::array<GradientRow<T>, n>& rows, std::int64_t columns,
                            const Gradients& gradients) {
  if (rows[0].residual != nullptr) {
    for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
      const std::array<GradientFactors, n> of = gradients(c, lanes);
#pragma GCC unroll 2
      for (std::size_t r = 0; r < n; ++r)
        lanes.write(rows[r].dx + c,
                    multiply_add(FloatVector{} + of[r].factor, of[r].rest,
                                 lanes.stream(rows[r].residual + c)),
                    rows[r].past);
    });
  } else {
    for_vectors(0, columns, [=](std::int64_t c, auto lanes) {
      const std::array<GradientFactors, n> of = gradients(c, lanes);
#pragma GCC unroll 2
      for (std::size_t r = 0; r < n; ++r)
        lanes.write(rows[r].dx + c, of[r].factor * of[r].rest, rows[r].past);
    });
  }
}

/// Calls backward_rows(array of GradientRow<T>, sums) for all rows of dx, dy, residual (may be
/// empty) and x, all of one shape, rows_side_by_side at a time and the last one alone. `partials`:
/// (row_blocks, columns) each; `sums` points to the row of each that belongs to this chunk of rows.
template <class T, std::size_t count, class BackwardRows>
void for_each_gradient_row(const Tensor& dx, const Tensor& dy, const Tensor& residual,
                           const Tensor& x, const std::array<float*, count>& partials,
                           const BackwardRows& backward_rows) {
  const Rows<T> out = rows_of<T>(dx, "dx");
  const Rows<T> upstream = rows_like(dy, out, "dy");
  const Rows<T> in = rows_like(x, out, "x");
  const Rows<T> skip = residual.empty() ? Rows<T>{} : rows_like(residual, out, "residual");
  const bool past = past_caches(dx, {&dy, &residual, &x});
  parallel_for(row_blocks(out.rows), [=](std::int64_t b) {
    std::array<float*, count> sums = partials;
    for (float*& block : sums) std::fill_n(block += b * out.columns, out.columns, 0.0F);
    const std::int64_t end = std::min(out.rows, (b + 1) * rows_per_block);
    const auto row = [=](std::int64_t r) {
      return GradientRow<T>{out[r], upstream[r], skip.data ? skip[r] : nullptr, in[r], past};
    };
    std::int64_t r = b * rows_per_block;
    if constexpr (rows_side_by_side == 2)
      for (; r + 2 <= end; r += 2) backward_rows(std::array{row(r), row(r + 1)}, sums);
    for (; r < end; ++r) backward_rows(std::array{row(r)}, sums);
  });
}

}  // namespace triax
