// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/weight_average.hpp"

#include "kernels/cuda/launch/pointwise.hpp"
#include "kernels/cuda/state_kernels.hpp"

namespace triax::cuda {
namespace {

struct Average {
  float* average;
  const float* parameter;
  const float* factor;
  float take;

  template <int n>
  TRIAX_DEVICE void run(std::int64_t i) const {
    if (*factor != *factor) return;
    float a[n], p[n];
    load<n>(a, average + i);
    load<n>(p, parameter + i);
    TRIAX_UNROLL
    for (int j = 0; j < n; ++j) a[j] += take * (p[j] - a[j]);
    store<n>(average + i, a);
  }
};

}  // namespace

void weight_average(const Stream& stream, const Tensor& average, const Tensor& parameter,
                    const Tensor& factor, double decay) {
  const std::int64_t n = average.elements();
  float* a = device_elements(average, n, "average");
  const float* p = device_elements(parameter, n, "parameter");
  pointwise<wide<float>>(
      stream, n, aligned(a) && aligned(p),
      Average{a, p, device_elements(factor, 1, "factor"), static_cast<float>(1.0 - decay)});
}

}  // namespace triax::cuda
