// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/noise.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/cuda/random/random_words.hpp"
#include "kernels/random/noise_of_word.hpp"

namespace triax::cuda {
namespace {

template <class T>
struct Noisy {
  T* y;
  std::uint64_t key;
  std::int64_t first_index;
  float magnitude;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    std::uint32_t words[n];
    load<n>(values, y + i);
    if constexpr (n == 1) {
      const std::int64_t index = first_index + i;
      const auto block = static_cast<std::uint64_t>(index / philox_words);
      words[0] = word_of(philox_block(key, block), static_cast<int>(index % philox_words));
    } else {
      words_at<n>(words, key, first_index + i);
    }
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = values[j] + magnitude * symmetric_uniform(words[j]);
    store<n>(y + i, values);
  }
};

}  // namespace

void add_noise(const Stream& stream, const Tensor& y, const Noise& noise,
               std::int64_t first_index) {
  const std::int64_t n = y.elements();
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    T* values = device_elements<T>(y, n, "y");
    const bool allowed = aligned(values) && first_index % wide<T> == 0;
    pointwise<wide<T>>(stream, n, allowed,
                       Noisy<T>{values, noise.key, first_index, noise.magnitude});
  });
}

}  // namespace triax::cuda
