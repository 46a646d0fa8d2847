// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adamw.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/adamw_update.hpp"

namespace triax::cuda {

void adamw(const Stream& stream, const Tensor& parameter, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options) {
  check_steps(options);
  const std::int64_t n = parameter.elements();
  float* first = device_elements(m, n, "m");
  float* second = device_elements(v, n, "v");
  const auto step = [&](const auto& rule) {
    update(stream, rule, parameter, weights, gradient, factor, options, first, second);
  };
  if (options.decoupled)
    step(AdamRule<true>(options));
  else
    step(AdamRule<false>(options));
}

}  // namespace triax::cuda
