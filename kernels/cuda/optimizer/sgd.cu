// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/sgd.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/sgd_update.hpp"

namespace triax::cuda {

void sgd(const Stream& stream, const Tensor& parameter, const Tensor& weights,
         const Tensor& gradient, const Tensor& factor, const Tensor& velocity,
         const SgdOptions& options) {
  float* v = options.momentum == 0.0 ? nullptr
                                     : device_elements(velocity, parameter.elements(), "velocity");
  with_sgd_rule(options, v, [&](const auto& rule, auto*... states) {
    update(stream, rule, parameter, weights, gradient, factor, options, states...);
  });
}

}  // namespace triax::cuda
