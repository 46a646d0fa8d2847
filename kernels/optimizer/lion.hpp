// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lion (Chen et al. 2023, algorithm 2) on a flat range of parameters.
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. clip_value and stochastic: as in AdamWOptions.
struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.0;  // decoupled
  double clip_value = std::numeric_limits<double>::infinity();
  std::optional<ElementNumbers> stochastic = {};
};

/// One update, in one pass over memory. All tensors: (n), contiguous; m is float32, the others as
/// in adamw().
///   g = clipped(factor * gradient);  u = sign(b1 m + (1 - b1) g), where sign(0) = 0
///   p -= lr * (weight_decay * p + u);  m = b2 m + (1 - b2) g
void lion(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m,
          const LionOptions& options);

}  // namespace triax
