// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adagrad (Duchi et al. 2011), as torch.optim.Adagrad, on a flat range of parameters.
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. clip_value and stochastic: as in AdamWOptions.
struct AdagradOptions {
  double learning_rate = 1e-2;
  double epsilon = 1e-10;
  double weight_decay = 0.0;  // g += weight_decay * p
  double clip_value = std::numeric_limits<double>::infinity();
  std::optional<ElementNumbers> stochastic = {};
};

/// One update, in one pass over memory. All tensors: (n), contiguous; `sum` is float32, the others
/// are as in adamw().
///   g = clipped(factor * gradient) + weight_decay * p
///   sum += g^2;  p -= lr * g / (sqrt(sum) + epsilon)
void adagrad(const Stream& stream, const Tensor& parameter, const Tensor& weights,
             const Tensor& gradient, const Tensor& factor, const Tensor& sum,
             const AdagradOptions& options);

}  // namespace triax
