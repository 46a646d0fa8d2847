// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/noise.hpp"

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/pair_kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/random/noise_of_word.hpp"
#include "kernels/random/philox_vectors.hpp"

namespace triax {
namespace {
constexpr std::int64_t block = 8192;  // elements of a parallel task
}

void add_noise(const Stream& stream, const Tensor& y, const Noise& noise,
               std::int64_t first_index) {
  if (on_device(stream)) return cuda::add_noise(stream, y, noise, first_index);
  const float magnitude = noise.magnitude;
  const std::uint64_t key = noise.key;
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    T* values = elements_of<T>(y, y.elements(), "y");
    parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      for_random_words(
          end - begin, key, first_index + begin,
          [=](std::int64_t done, const std::uint32_t* words, std::int64_t n) {
            T* const at = values + begin + done;
            for (std::int64_t i = 0; i < n; ++i)
              at[i] = static_cast<T>(float{at[i]} + magnitude * symmetric_uniform(words[i]));
          });
    });
  });
}

}  // namespace triax
