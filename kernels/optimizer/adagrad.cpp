// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adagrad.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/optimizer/adagrad_update.hpp"
#include "kernels/optimizer/update.hpp"

namespace triax {

void adagrad(const Stream& stream, const Tensor& parameter, const Tensor& weights,
             const Tensor& gradient, const Tensor& factor, const Tensor& sum,
             const AdagradOptions& options) {
  if (on_device(stream))
    return cuda::adagrad(stream, parameter, weights, gradient, factor, sum, options);
  update(AdagradRule(options), {parameter, weights, gradient, factor}, options,
         elements_of(sum, parameter.elements(), "sum"));
}

}  // namespace triax
