// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/lion.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/lion_update.hpp"

namespace triax::cuda {

void lion(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m,
          const LionOptions& options) {
  update(stream, LionRule(options), parameter, weights, gradient, factor, options,
         device_elements(m, parameter.elements(), "m"));
}

}  // namespace triax::cuda
