// SPDX-License-Identifier: Apache-2.0
#include "kernels/optimizer/adagrad.hpp"

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/optimizer/update.hpp"
#include "kernels/optimizer/adagrad_update.hpp"

namespace triax::cuda {

void adagrad(const Stream& stream, const Tensor& parameter, const Tensor& weights,
             const Tensor& gradient, const Tensor& factor, const Tensor& sum,
             const AdagradOptions& options) {
  update(stream, AdagradRule(options), parameter, weights, gradient, factor, options,
         device_elements(sum, parameter.elements(), "sum"));
}

}  // namespace triax::cuda
