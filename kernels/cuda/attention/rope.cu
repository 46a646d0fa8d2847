// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/rope.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

// Rotates pairs (d, d + half) of a head of `size` elements by their angles. Column p of a row is
// pair p % half of head p / half.
template <class T>
struct Rotate {
  T* x;
  const float* cosines;
  const float* sines;
  std::int64_t batch_stride;
  std::int64_t row_stride;
  std::int64_t length;
  std::int32_t half;
  std::int32_t size;
  float sign;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t batch = row / length;
    const std::int64_t position = row - batch * length;
    const auto pair = static_cast<std::int32_t>(column);
    const std::int32_t head = pair / half;
    const std::int32_t d = pair - head * half;
    T* low = x + batch * batch_stride + position * row_stride + head * size + d;
    float a[n], b[n], c[n], s[n];
    load<n>(a, low);
    load<n>(b, low + half);
    load<n>(c, cosines + position * half + d);
    load<n>(s, sines + position * half + d);
    TRIAX_UNROLL
    for (int i = 0; i < n; ++i) {
      const float sine = sign * s[i];
      const float turned = a[i] * c[i] - b[i] * sine;
      b[i] = b[i] * c[i] + a[i] * sine;
      a[i] = turned;
    }
    store<n>(low, a);
    store<n>(low + half, b);
  }
};

void rotate(const Stream& stream, const Tensor& x, const Tensor& table, float sign) {
  check(x.rank() == 4 && x.stride(3) == 1 && x.stride(2) == x.size(3) && x.size(3) % 2 == 0,
        "rope on {}: the heads must be contiguous and of even size", x.shape());
  check_space(x, "x");
  const std::int64_t length = x.size(1);
  check_rope_table(table, x);
  const std::int64_t half = table.size(2);
  const std::int64_t size = x.size(3);
  check_space(table, "table");
  const float* cosines = table.as<float>();
  const float* sines = cosines + table.stride(0);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* data = x.as<T>();
    const bool allowed = half % wide<T> == 0 && size % wide<T> == 0 && aligned(data) &&
                         x.stride(0) % wide<T> == 0 && x.stride(1) % wide<T> == 0 &&
                         aligned(cosines) && aligned(sines);
    tiles<wide<T>>(
        stream, x.size(0) * length, x.size(2) * half, allowed,
        Rotate<T>{data, cosines, sines, x.stride(0), x.stride(1), length,
                  static_cast<std::int32_t>(half), static_cast<std::int32_t>(size), sign});
  });
}

}  // namespace

void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table) {
  rotate(stream, x, table, 1.0F);
}

void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table) {
  rotate(stream, dx, table, -1.0F);
}

}  // namespace triax::cuda
