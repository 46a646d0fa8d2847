// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/dropout.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/random/random_words.hpp"
#include "kernels/random/dropout_mask.hpp"

namespace triax::cuda {
namespace {

template <class T>
struct Dropped {
  T* y;
  const T* x;
  std::uint64_t key;
  std::int64_t first_index;
  DropoutMask mask;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    std::uint32_t halves[n];
    load<n>(values, x + i);
    halves_at<n>(halves, key, first_index + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = mask.keeps(halves[j]) ? values[j] * mask.factor : 0.0F;
    store<n>(y + i, values);
  }
};

}  // namespace

void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index) {
  const float p = dropout.probability;
  check(p >= 0.0F && p < 1.0F, "dropout with probability {}", p);
  const std::int64_t n = y.elements();
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const T* in = device_elements<T>(x, n, "x");
    T* out = device_elements<T>(y, n, "y");
    const bool allowed = aligned(out) && aligned(in) && first_index % wide<T> == 0;
    pointwise<wide<T>>(stream, n, allowed,
                       Dropped<T>{out, in, dropout.key, first_index, dropout_mask(p)});
  });
}

}  // namespace triax::cuda
