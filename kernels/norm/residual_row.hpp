// SPDX-License-Identifier: Apache-2.0
#pragma once
// Residual sums on the host, row by row: alone, or each before the norm that reads it.
#include <cstdint>

#include "kernels/base/rows.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {

/// Operands of sum = x + a + bias; bias may be null.
template <class T>
struct ResidualRows {
  Rows<T> sum, x, a;
  const T* bias;
};

/// The checked operands; `bias` may be empty.
template <class T>
ResidualRows<T> residual_rows(const Tensor& sum, const Tensor& x, const Tensor& a,
                              const Tensor& bias) {
  const Rows<T> out = rows_of<T>(sum, "sum");
  return {out, rows_like(x, out, "x"), rows_like(a, out, "a"),
          bias.empty() ? nullptr : elements_of<T>(bias, out.columns, "bias")};
}

/// Computes row r of the sum; `past` as for lanes.write.
template <class T>
inline void add_residual(const ResidualRows<T>& rows, std::int64_t r, bool past) {
  T* to = rows.sum[r];
  const T* from = rows.x[r];
  const T* more = rows.a[r];
  if (const T* shift = rows.bias) {
    for_vectors(0, rows.sum.columns, [=](std::int64_t c, auto lanes) {
      const FloatVector shifted = lanes.load(more + c) + lanes.load(shift + c);
      lanes.write(to + c, lanes.load(from + c) + shifted, past);
    });
  } else {
    for_vectors(0, rows.sum.columns, [=](std::int64_t c, auto lanes) {
      lanes.write(to + c, lanes.load(from + c) + lanes.load(more + c), past);
    });
  }
}

}  // namespace triax
