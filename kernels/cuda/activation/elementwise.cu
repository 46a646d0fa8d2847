// SPDX-License-Identifier: Apache-2.0
#include "kernels/activation/elementwise.hpp"

#include <algorithm>

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

template <class T>
struct Residual {
  Rows<T> y, x, a;
  const T* bias;  // or null

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float sum[n], more[n];
    load<n>(sum, x[row] + column);
    load<n>(more, a[row] + column);
    if (bias != nullptr) {
      float shift[n];
      load<n>(shift, bias + column);
      TRIAX_UNROLL
      for (int i = 0; i < n; ++i) more[i] += shift[i];
    }
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) sum[i] += more[i];
    store<n>(y[row] + column, sum);
  }
};

template <class T>
struct AddBias {
  Rows<T> y;
  const T* bias;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float sum[n], shift[n];
    load<n>(sum, y[row] + column);
    load<n>(shift, bias + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) sum[i] += shift[i];
    store<n>(y[row] + column, sum);
  }
};

template <class G, class T>
struct Accumulate {
  G* to;
  const T* from;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float sum[n], more[n];
    load<n>(sum, to + i);
    load<n>(more, from + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) sum[j] += more[j];
    store<n>(to + i, sum);
  }
};

template <class U, class T>
struct Convert {
  U* to;
  const T* from;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    load<n>(values, from + i);
    store<n>(to + i, values);
  }
};

template <class T>
struct Scale {
  Rows<T> y, x;
  float factor;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float values[n];
    load<n>(values, x[row] + column);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) values[i] *= factor;
    store<n>(y[row] + column, values);
  }
};

template <class T>
struct CopyRows {
  Rows<T> to, from;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    float values[n];
    load<n>(values, from[row] + column);
    store<n>(to[row] + column, values);
  }
};

}  // namespace

void residual_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& a,
                      const Tensor& bias) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const Rows<T> left = device_rows_like(x, out, "x");
    const Rows<T> right = device_rows_like(a, out, "a");
    const T* shift = bias.empty() ? nullptr : device_elements<T>(bias, out.columns, "bias");
    const bool allowed = aligned(out) && aligned(left) && aligned(right) && aligned(shift);
    tiles<wide<T>>(stream, out.rows, out.columns, allowed, Residual<T>{out, left, right, shift});
  });
}

void add_bias(const Stream& stream, const Tensor& y, const Tensor& bias) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> out = device_rows<T>(y, "y");
    const T* shift = device_elements<T>(bias, out.columns, "bias");
    tiles<wide<T>>(stream, out.rows, out.columns, aligned(out) && aligned(shift),
                   AddBias<T>{out, shift});
  });
}

void accumulate(const Stream& stream, const Tensor& dst, const Tensor& src) {
  with_types(src.dtype(), dst.dtype(), [&]<class T, class G>(Type<T>, Type<G>) {
    G* to = device_elements<G>(dst, dst.elements(), "dst");
    const T* from = device_elements<T>(src, dst.elements(), "src");
    pointwise<wide<T>>(stream, dst.elements(), aligned(to) && aligned(from),
                       Accumulate<G, T>{to, from});
  });
}

void convert(const Stream& stream, const Tensor& dst, const Tensor& src) {
  with_type(src.dtype(), [&]<class T>(Type<T>) {
    with_type(dst.dtype(), [&]<class U>(Type<U>) {
      U* to = device_elements<U>(dst, dst.elements(), "dst");
      const T* from = device_elements<T>(src, dst.elements(), "src");
      pointwise<std::max(wide<T>, wide<U>)>(stream, dst.elements(), aligned(to) && aligned(from),
                                            Convert<U, T>{to, from});
    });
  });
}

void scale(const Stream& stream, const Tensor& y, const Tensor& x, float factor) {
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> to = device_rows<T>(y, "y");
    const Rows<T> from = device_rows_like(x, to, "x");
    tiles<wide<T>>(stream, to.rows, to.columns, aligned(to) && aligned(from),
                   Scale<T>{to, from, factor});
  });
}

void copy_rows(const Stream& stream, const Tensor& dst, const Tensor& src) {
  with_type(dst.dtype(), [&]<class T>(Type<T>) {
    const Rows<T> to = device_rows<T>(dst, "dst");
    const Rows<T> from = device_rows_like(src, to, "src");
    tiles<wide<T>>(stream, to.rows, to.columns, aligned(to) && aligned(from),
                   CopyRows<T>{to, from});
  });
}

}  // namespace triax::cuda
