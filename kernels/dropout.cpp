#include "kernels/dropout.hpp"

#include <cmath>

#include "kernels/base/parallel.hpp"
#include "kernels/base/past_caches.hpp"
#include "kernels/base/rows.hpp"
#include "kernels/base/vector_loop.hpp"
#include "kernels/base/with_type.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/philox_vectors.hpp"
#include "kernels/random.hpp"

namespace triax {
namespace {
constexpr std::int64_t block = 8192;  // elements of a parallel task

// The least word that `uniform_from` makes a number of at least `probability`.
std::uint32_t least_kept_word(float probability) {
  return static_cast<std::uint32_t>(std::ceil(probability * 0x1p24F)) << 8U;
}
}  // namespace

void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index) {
  if (on_device(stream)) return cuda::dropout(stream, y, x, dropout, first_index);
  const float p = dropout.probability;
  check(p >= 0.0F && p < 1.0F, "dropout with probability {}", p);
  const float kept = 1.0F / (1.0F - p);
  const std::uint32_t least = least_kept_word(p);
  const std::uint64_t key = dropout.key;
  with_type(y.dtype(), [&]<class T>(Type<T>) {
    const T* in = elements_of<T>(x, y.elements(), "x");
    T* out = elements_of<T>(y, y.elements(), "y");
    const bool past = first_index % 4 == 0 && past_caches(y, {&x});  // else words begin anywhere
    parallel_for_blocks(y.elements(), block, [=](std::int64_t begin, std::int64_t end) {
      const FloatVector all_kept = FloatVector{} + kept;
      const auto drop = [=](std::int64_t done, const std::uint32_t* words, std::int64_t n) {
        const std::int64_t at = begin + done;
        for_vectors(at, at + n, [=](std::int64_t i, auto lanes) {
          const FloatVector factor =
              load_words(words + (i - at)) >= least ? all_kept : FloatVector{};
          lanes.write(out + i, lanes.stream(in + i) * factor, past);
        });
      };
      for_random_words<4>(end - begin, key, first_index + begin, drop);
    });
  });
}

}  // namespace triax
