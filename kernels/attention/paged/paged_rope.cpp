// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/paged/paged_rope.hpp"

#include "kernels/parallel/parallel.hpp"
#include "kernels/simd/vector_loop.hpp"

namespace triax {

void paged_rope(const Stream& stream, const Tensor& x, const Tensor& table,
                const Tensor& positions) {
  check(stream.space() == MemorySpace::host && x.rank() == 3 && x.stride(1) == x.size(2) &&
            x.stride(2) == 1 && table.size(2) <= x.size(2) / 2 && positions.elements() >= x.size(0),
        "rope on {} at {} positions", x.shape(), positions.shape());
  const std::int64_t heads = x.size(1), width = x.size(2), half = table.size(2);
  const float* const cosines = table.as<float>();
  const float* const sines = cosines + table.stride(0);
  const std::int32_t* const at = positions.as<std::int32_t>();
  float* const data = x.as<float>();
  const std::int64_t stride = x.stride(0);
  parallel_for(x.size(0), [=](std::int64_t r) {
    const float* const c = cosines + at[r] * half;
    const float* const s = sines + at[r] * half;
    for (std::int64_t h = 0; h < heads; ++h) {
      float* const low = data + r * stride + h * width;
      float* const high = low + half;
      for_vectors(0, half, [=](std::int64_t d, auto lanes) {
        const FloatVector a = lanes.load(low + d), b = lanes.load(high + d);
        const FloatVector cosine = lanes.load(c + d), sine = lanes.load(s + d);
        lanes.store(low + d, multiply_add(a, cosine, -b * sine));
        lanes.store(high + d, multiply_add(b, cosine, a * sine));
      });
    }
  });
}

}  // namespace triax
