// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/weight_average.hpp"

#include <cmath>

#include "kernels/base/rows.hpp"
#include "kernels/cuda/state_kernels.hpp"
#include "kernels/parallel/parallel.hpp"

namespace triax {

void weight_average(const Stream& stream, const Tensor& average, const Tensor& parameter,
                    const Tensor& factor, double decay) {
  if (on_device(stream)) return cuda::weight_average(stream, average, parameter, factor, decay);
  constexpr std::int64_t block = 8192;  // elements per parallel task
  const std::int64_t n = average.elements();
  float* a = elements_of(average, n, "average");
  const float* p = elements_of(parameter, n, "parameter");
  if (std::isnan(*elements_of(factor, 1, "factor"))) return;
  const auto take = static_cast<float>(1.0 - decay);
  parallel_for_blocks(n, block, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) a[i] += take * (p[i] - a[i]);
  });
}

}  // namespace triax
