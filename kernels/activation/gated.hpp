// SPDX-License-Identifier: Apache-2.0
#pragma once
// Row loops of the host for gated activations (Shazeer 2020): y = activation(gate) * up. Activation
// has for_each() as TanhGelu (gelu_loops.hpp).
#include <cstdint>

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {

/// Rows of the fused (N, 2 I) matrix that belong to the rows of `half` (N, I).
template <class T>
Rows<T> fused_rows(const Tensor& tensor, const Rows<T>& half, const char* name) {
  const Rows<T> rows = rows_of<T>(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

/// x: (N, 2 I), gate first; y: (N, I).
template <class Activation>
void gated_forward(const Tensor& y, const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> in = fused_rows(x, out, "x");
    const bool past = past_caches(y, {&x});
    parallel_for(out.rows, [=](std::int64_t r) {
      T* to = out[r];
      const T* gates = in[r];
      const T* ups = gates + out.columns;
      Activation::for_each(gates, 0, out.columns,
                           [=](std::int64_t c, const auto& gate, auto lanes) {
                             lanes.write(to + c, gate.value * lanes.stream(ups + c), past);
                           });
    });
  });
}

/// dx (N, 2 I) from dy (N, I), and y recomputed in the same pass.
template <class Activation>
void gated_backward(const Tensor& dx, const Tensor& y, const Tensor& dy, const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = rows_of<T>(y, "y");
    const Rows<T> upstream = rows_like(dy, out, "dy");
    const Rows<T> in = fused_rows(x, out, "x");
    const Rows<T> gradient = fused_rows(dx, out, "dx");
    // The second half of a row must be aligned for store_two, too.
    const bool whole_lines = out.columns % (2 * vector_floats) == 0;
    const bool past = whole_lines && past_caches(dx, {&dy, &x});
    const bool past_y = past_caches(y, {&dy, &x});
    parallel_for(out.rows, [=](std::int64_t r) {
      const std::int64_t columns = out.columns;
      const T* gates = in[r];
      const T* ups = gates + columns;
      const T* dout = upstream[r];
      T* dgate = gradient[r];
      T* dup = dgate + columns;
      T* to = out[r];
      Activation::for_each(gates, 0, columns, [=](std::int64_t c, const auto& gate, auto lanes) {
        const auto d = lanes.stream(dout + c);
        const auto up = lanes.stream(ups + c);
        lanes.write(dgate + c, d * up * gate.slope, past);
        lanes.write(dup + c, d * gate.value, past);
        lanes.write(to + c, gate.value * up, past_y);
      });
    });
  });
}

}  // namespace triax
