// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/random.hpp"

#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/random/random_words.hpp"
#include "kernels/random/box_muller.hpp"

namespace triax::cuda {
namespace {

template <class T>
struct Normal {
  T* out;
  std::uint64_t key;
  std::int64_t first_index;
  float mean;
  float deviation;

  TRIAX_DEVICE float scaled(double normal) const {
    return mean + deviation * static_cast<float>(normal);
  }

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    const std::int64_t index = first_index + i;
    float values[n];
    if constexpr (n == 1) {  // one half of a Box-Muller pair
      const PhiloxBlock made = philox_block(key, static_cast<std::uint64_t>(index / philox_words));
      const bool upper = index % philox_words >= 2;
      const NormalPair pair = box_muller(upper ? made.w2 : made.w0, upper ? made.w3 : made.w1);
      values[0] = scaled(index % 2 == 0 ? pair.cosine : pair.sine);
    } else {
      std::uint32_t words[n];
      words_at<n>(words, key, index);
      TRIAX_UNROLL
      for (int j = 0; j < n; j += 2) {
        const NormalPair pair = box_muller(words[j], words[j + 1]);
        values[j] = scaled(pair.cosine);
        values[j + 1] = scaled(pair.sine);
      }
    }
    store<n>(out + i, values);
  }
};

template <class T>
struct Constant {
  T* out;
  float value;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    float values[n];
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) values[j] = value;
    store<n>(out + i, values);
  }
};

}  // namespace

void fill_normal(const Stream& stream, const Tensor& out, std::uint64_t key,
                 std::int64_t first_index, float mean, float deviation) {
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = device_elements<T>(out, out.elements(), "out");
    const bool allowed = aligned(values) && first_index % philox_words == 0;
    pointwise<wide<T>>(stream, out.elements(), allowed,
                       Normal<T>{values, key, first_index, mean, deviation});
  });
}

void fill_constant(const Stream& stream, const Tensor& out, float value) {
  with_type(out.dtype(), [&]<class T>(Type<T>) {
    T* values = device_elements<T>(out, out.elements(), "out");
    pointwise<wide<T>>(stream, out.elements(), aligned(values), Constant<T>{values, value});
  });
}

}  // namespace triax::cuda
