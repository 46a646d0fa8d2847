// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adamw.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/adamw_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void adamw(const Stream& stream, const Tensor& parameter, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options) {
  if (on_device(stream))
    return cuda::adamw(stream, parameter, weights, gradient, factor, m, v, options);
  check_steps(options);
  const std::int64_t n = parameter.elements();
  float* first = elements_of(m, n, "m");
  float* second = elements_of(v, n, "v");
  const Stepped stepped{parameter, weights, gradient, factor};
  if (options.decoupled)
    update(AdamRule<true>(options), stepped, options, first, second);
  else
    update(AdamRule<false>(options), stepped, options, first, second);
}

}  // namespace triax
