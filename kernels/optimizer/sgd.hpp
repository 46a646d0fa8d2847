// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stochastic gradient descent with momentum (Sutskever et al. 2013), as torch.optim.SGD, on a flat
// range of parameters.
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. clip_value and stochastic: as in AdamWOptions.
struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;  // g += weight_decay * p
  double clip_value = std::numeric_limits<double>::infinity();
  bool first = false;  // the velocity begins with the gradient, without dampening
  std::optional<ElementNumbers> stochastic = {};
};

/// One update, in one pass over memory. All tensors: (n), contiguous; `velocity` is float32, and
/// empty if momentum is 0; the others are as in adamw().
///   g = clipped(factor * gradient) + weight_decay * p
///   v = momentum * v + (1 - dampening) * g;  u = v, or g + momentum * v with nesterov, or g
///   without momentum;  p -= lr * u
void sgd(const Stream& stream, const Tensor& parameter, const Tensor& weights,
         const Tensor& gradient, const Tensor& factor, const Tensor& velocity,
         const SgdOptions& options);

}  // namespace triax
