// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adan.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/adan_update.hpp"

namespace triax::cuda {

void adan(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& u,
          const Tensor& v, const Tensor& before, const AdanOptions& options) {
  const std::int64_t n = parameter.elements();
  update(stream, AdanRule(options), parameter, weights, gradient, factor, options,
         device_elements(m, n, "m"), device_elements(u, n, "u"), device_elements(v, n, "v"),
         device_elements(before, n, "before"));
}

}  // namespace triax::cuda
