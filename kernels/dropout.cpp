#include "kernels/dropout.hpp"

#include <algorithm>

#include "kernels/base/parallel.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/random.hpp"

namespace triax {
namespace {
constexpr std::int64_t block =
    2048;  // elements whose random words are made at once; they stay in L1
}

void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index) {
  if (on_device(stream)) return cuda::dropout(stream, y, x, dropout, first_index);
  const float p = dropout.probability;
  check(p >= 0.0F && p < 1.0F, "dropout with probability {}", p);
  const float kept = 1.0F / (1.0F - p);
  const std::uint64_t key = dropout.key;
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const T* in = elements_of<T>(x, y.elements(), "x");
    T* out = elements_of<T>(y, y.elements(), "y");
    parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      std::uint32_t words[block];
      if (p > 0.0F)
        random_words(words, end - begin, key, first_index + begin);
      else
        std::fill_n(words, end - begin, ~std::uint32_t{0});
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i)
        out[i] = in[i] * (kept * static_cast<float>(uniform_from(words[i - begin]) >= p));
    });
  });
}

}  // namespace triax
