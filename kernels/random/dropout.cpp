// SPDX-License-Identifier: Apache-2.0
#include "kernels/random/dropout.hpp"

#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/parallel/parallel.hpp"
#include "kernels/random/dropout_mask.hpp"
#include "kernels/random/philox_vectors.hpp"
#include "kernels/simd/past_caches.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {
namespace {
constexpr std::int64_t block = 8192;  // elements of a parallel task
}

void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index) {
  if (on_device(stream)) return cuda::dropout(stream, y, x, dropout, first_index);
  const float p = dropout.probability;
  check(p >= 0.0F && p < 1.0F, "dropout with probability {}", p);
  const DropoutMask mask = dropout_mask(p);
  const std::uint64_t key = dropout.key;
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const T* in = elements_of<T>(x, y.elements(), "x");
    T* out = elements_of<T>(y, y.elements(), "y");
    // From an index inside a generator block, vectors would not begin at cache lines.
    const bool past = first_index % halves_of_block == 0 && past_caches(y, {&x});
    parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      const auto drop = [=](std::int64_t done, const std::uint16_t* halves, std::int64_t n) {
        const std::int64_t at = begin + done;
        for_vectors(at, at + n, [=](std::int64_t i, auto lanes) {
          const FloatVector kept = lanes.stream(in + i) * mask.factor;
          lanes.write(out + i, where_at_least(halves + (i - at), mask.least, kept), past);
        });
      };
      for_random_halves<4>(end - begin, key, first_index + begin, drop);
    });
  });
}

}  // namespace triax
