// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/gelu.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/activation/activation.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

template <class Activation, class T>
struct Forward {
  T* y;
  const T* x;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    load<n>(values, x + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = Activation::value(values[j]);
    store<n>(y + i, values);
  }
};

template <class Activation, class T>
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
      const ValueAndSlope gelu = Activation::at(values[j]);
      gradient[j] *= gelu.slope;
      values[j] = gelu.value;
    }
    store<n>(dx + i, gradient);
    if (y != nullptr) store<n>(y + i, values);
  }
};

// Calls body(Type<Activation>{}).
template <class Body>
void with_kind(Gelu kind, const Body& body) {
  if (kind == Gelu::erf)
    body(Type<ErfGelu>{});
  else
    body(Type<TanhGelu>{});
}

}  // namespace

void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x, Gelu kind) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* out = device_elements<T>(y, x.elements(), "y");
    const T* in = device_elements<T>(x, x.elements(), "x");
    with_kind(kind, [&]<class Activation>(Type<Activation>) {
      pointwise<wide<T>>(stream, x.elements(), aligned(out) && aligned(in),
                         Forward<Activation, T>{out, in});
    });
  });
}

void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x, Gelu kind) {
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    const std::int64_t n = x.elements();
    T* gradient = device_elements<T>(dx, n, "dx");
    T* out = y.empty() ? nullptr : device_elements<T>(y, n, "y");
    const T* upstream = device_elements<T>(dy, n, "dy");
    const T* in = device_elements<T>(x, n, "x");
    const bool allowed = aligned(gradient) && aligned(out) && aligned(upstream) && aligned(in);
    with_kind(kind, [&]<class Activation>(Type<Activation>) {
      pointwise<wide<T>>(stream, n, allowed, Backward<Activation, T>{gradient, out, upstream, in});
    });
  });
}

}  // namespace triax::cuda
