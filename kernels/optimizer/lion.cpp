// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/lion.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/lion_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void lion(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m,
          const LionOptions& options) {
  if (on_device(stream))
    return cuda::lion(stream, parameter, weights, gradient, factor, m, options);
  update(LionRule(options), {parameter, weights, gradient, factor}, options,
         elements_of(m, parameter.elements(), "m"));
}

}  // namespace triax
