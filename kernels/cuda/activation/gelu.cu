// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include "kernels/activation/gelu_formula.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/fast_math.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

TRIAX_DEVICE inline GeluSigmoid<float> sigmoid_of_gelu(float x) {
  const float e = fast_exp(-gelu_argument(x));
  return gelu_sigmoid(e, fast_reciprocal(1.0F + e));
}

template <class T>
struct Forward {
  T* y;
  const T* x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    load<n>(values, x + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] *= sigmoid_of_gelu(values[j]).value;
    store<n>(y + i, values);
  }
};

template <class T>
struct Backward {
  T* dx;
  T* y;  // or null
  const T* dy;
  const T* x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n], gradient[n];
    load<n>(values, x + i);
    load<n>(gradient, dy + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) {
      const float v = values[j];
      const GeluSigmoid s = sigmoid_of_gelu(v);
      gradient[j] *= s.value + v * gelu_argument_slope(v) * s.derivative;
      values[j] = v * s.value;
    }
    store<n>(dx + i, gradient);
    if (y != nullptr) store<n>(y + i, values);
  }
};

}  // namespace

void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = device_elements<T>(y, x.elements(), "y");
    const T* in = device_elements<T>(x, x.elements(), "x");
    pointwise<wide<T>>(stream, x.elements(), aligned(out) && aligned(in), Forward<T>{out, in});
  });
}

void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const std::int64_t n = x.elements();
    const Backward<T> body{device_elements<T>(dx, n, "dx"),
                           y.empty() ? nullptr : device_elements<T>(y, n, "y"),
                           device_elements<T>(dy, n, "dy"), device_elements<T>(x, n, "x")};
    const bool allowed = aligned(body.dx) && aligned(body.y) && aligned(body.dy) && aligned(body.x);
    pointwise<wide<T>>(stream, n, allowed, body);
  });
}

}  // namespace triax::cuda
