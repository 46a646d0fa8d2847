// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/sgd.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/sgd_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void sgd(const Stream& stream, const Tensor& parameter, const Tensor& weights,
         const Tensor& gradient, const Tensor& factor, const Tensor& velocity,
         const SgdOptions& options) {
  if (on_device(stream))
    return cuda::sgd(stream, parameter, weights, gradient, factor, velocity, options);
  float* v =
      options.momentum == 0.0 ? nullptr : elements_of(velocity, parameter.elements(), "velocity");
  with_sgd_rule(options, v, [&](const auto& rule, auto*... states) {
    update(rule, {parameter, weights, gradient, factor}, options, states...);
  });
}

}  // namespace triax
