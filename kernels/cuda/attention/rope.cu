// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/rope.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"

namespace triax::cuda {
namespace {

// Rotates pairs (d, d + half) of a head of `size` elements by their angles. Column p of a row is
// pair p % half of head p / half. given: positions of the tokens are not their numbers.
template <class T, bool given>
struct Rotate {
  T* x;
  const float* cosines;
  const float* sines;
  std::int64_t batch_stride;
  std::int64_t row_stride;
  std::int64_t length;
  const std::int32_t* positions;  // of the tokens, where they are given
  std::int64_t positions_stride;
  std::int32_t half;
  std::int32_t size;
  float sign;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t row, std::int64_t column) const {
    const std::int64_t batch = row / length;
    const std::int64_t t = row - batch * length;
    std::int64_t position = t;
    if constexpr (given) position = positions[batch * positions_stride + t];
    const auto pair = static_cast<std::int32_t>(column);
    const std::int32_t head = pair / half;
    const std::int32_t d = pair - head * half;
    T* low = x + batch * batch_stride + t * row_stride + head * size + d;
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

void rotate(const Stream& stream, const Tensor& x, const Tensor& table, const Tensor& positions,
            float sign) {
  check(x.rank() == 4 && x.stride(3) == 1 && x.stride(2) == x.size(3) && x.size(3) % 2 == 0,
        "rope on {}: the heads must be contiguous and of even size", x.shape());
  check_space(x, "x");
  const std::int64_t length = x.size(1);
  check_rope_table(table, x);
  check_rope_positions(positions, x);
  const std::int64_t half = table.size(2);
  const std::int64_t size = x.size(3);
  check_space(table, "table");
  const bool places = !positions.empty();
  if (places) check_space(positions, "positions");
  const float* cosines = table.as<float>();
  const float* sines = cosines + table.stride(0);
  with_type(x.dtype(), [&]<class T>(Type<T>) {
    T* data = x.as<T>();
    const bool allowed = half % wide<T> == 0 && size % wide<T> == 0 && aligned(data) &&
                         x.stride(0) % wide<T> == 0 && x.stride(1) % wide<T> == 0 &&
                         aligned(cosines) && aligned(sines);
    with_bool(places, [&]<bool given>(std::bool_constant<given>) {
      tiles<wide<T>>(
          stream, x.size(0) * length, x.size(2) * half, allowed,
          Rotate<T, given>{data, cosines, sines, x.stride(0), x.stride(1), length,
                           places ? positions.as<std::int32_t>() : nullptr,
                           places ? positions.stride(0) : 0, static_cast<std::int32_t>(half),
                           static_cast<std::int32_t>(size), sign});
    });
  });
}

}  // namespace

void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table,
                  const Tensor& positions) {
  rotate(stream, x, table, positions, 1.0F);
}

void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table,
                   const Tensor& positions) {
  rotate(stream, dx, table, positions, -1.0F);
}

}  // namespace triax::cuda
