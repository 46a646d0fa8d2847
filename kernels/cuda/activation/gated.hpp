// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gated linear units (Shazeer 2020): y = activation(gate) * up, for an activation of
// activation.hpp. x: (N, 2 I), gate first; y: (N, I).
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/activation/activation.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {

template <class Activation, class T>
struct GatedForward {
  Rows<T> y, x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float gates[n], ups[n];
    load<n>(gates, x[row] + column);
    load<n>(ups, x[row] + y.columns + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) gates[i] = Activation::value(gates[i]) * ups[i];
    store<n>(y[row] + column, gates);
  }
};

template <class Activation, class T>
struct GatedBackward {
  Rows<T> dx, y, dy, x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float gates[n], ups[n], upstream[n], out[n];
    load<n>(gates, x[row] + column);
    load<n>(ups, x[row] + y.columns + column);
    load<n>(upstream, dy[row] + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) {
      const ValueAndSlope gate = Activation::at(gates[i]);
      gates[i] = upstream[i] * ups[i] * gate.slope;
      out[i] = gate.value * ups[i];
      ups[i] = upstream[i] * gate.value;
    }
    store<n>(dx[row] + column, gates);
    store<n>(dx[row] + y.columns + column, ups);
    store<n>(y[row] + column, out);
  }
};

/// Rows of the fused (N, 2 I) matrix (gate, up) that belongs to `half` (N, I).
template <class T>
Rows<T> fused_rows(const Tensor& tensor, const Rows<T>& half, const char* name) {
  const Rows<T> rows = device_rows<T>(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

template <class Activation>
void gated_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> in = fused_rows(x, out, "x");
    tiles<wide<T>>(stream, out.rows, out.columns, aligned(out) && aligned(in),
                   GatedForward<Activation, T>{out, in});
  });
}

template <class Activation>
void gated_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                    const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> upstream = device_rows_like(dy, out, "dy");
    const Rows<T> in = fused_rows(x, out, "x");
    const Rows<T> gradient = fused_rows(dx, out, "dx");
    const bool allowed = aligned(out) && aligned(upstream) && aligned(in) && aligned(gradient);
    tiles<wide<T>>(stream, out.rows, out.columns, allowed,
                   GatedBackward<Activation, T>{gradient, out, upstream, in});
  });
}

}  // namespace triax::cuda
