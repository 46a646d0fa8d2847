// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/swiglu.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

TRIAX_DEVICE inline float sigmoid(float x) {
  return fast_reciprocal(1.0F + fast_exp(-x));
}

template <class T>
struct Forward {
  Rows<T> y, x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float gates[n], ups[n];
    load<n>(gates, x[row] + column);
    load<n>(ups, x[row] + y.columns + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) gates[i] = gates[i] * sigmoid(gates[i]) * ups[i];
    store<n>(y[row] + column, gates);
  }
};

template <class T>
struct Backward {
  Rows<T> dx, y, dy, x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float gates[n], ups[n], upstream[n], out[n];
    load<n>(gates, x[row] + column);
    load<n>(ups, x[row] + y.columns + column);
    load<n>(upstream, dy[row] + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) {
      const float s = sigmoid(gates[i]);
      const float silu = gates[i] * s;
      gates[i] = upstream[i] * ups[i] * (s + silu * (1.0F - s));
      out[i] = silu * ups[i];
      ups[i] = upstream[i] * silu;
    }
    store<n>(dx[row] + column, gates);
    store<n>(dx[row] + y.columns + column, ups);
    store<n>(y[row] + column, out);
  }
};

// Rows of the fused (N, 2 I) matrix (gate, up) that belongs to `half` (N, I).
template <class T>
Rows<T> fused_rows(const Tensor& tensor, const Rows<T>& half, const char* name) {
  const Rows<T> rows = device_rows<T>(tensor, name);
  check(rows.rows == half.rows && rows.columns == 2 * half.columns, "{} is {} and must be ({}, {})",
        name, tensor.shape(), half.rows, 2 * half.columns);
  return rows;
}

}  // namespace

void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> in = fused_rows(x, out, "x");
    tiles<wide<T>>(stream, out.rows, out.columns, aligned(out) && aligned(in), Forward<T>{out, in});
  });
}

void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> upstream = device_rows_like(dy, out, "dy");
    const Rows<T> in = fused_rows(x, out, "x");
    const Rows<T> gradient = fused_rows(dx, out, "dx");
    const bool allowed = aligned(out) && aligned(upstream) && aligned(in) && aligned(gradient);
    tiles<wide<T>>(stream, out.rows, out.columns, allowed,
                   Backward<T>{gradient, out, upstream, in});
  });
}

}  // namespace triax::cuda
