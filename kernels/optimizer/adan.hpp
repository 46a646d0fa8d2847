// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adan (Xie et al. 2022, algorithm 1, as in the authors' code) on a flat range of parameters.
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. clip_value and stochastic: as in AdamWOptions.
struct AdanOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.98, beta2 = 0.92, beta3 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  bool proximal = true;  // p is divided by 1 + lr * weight_decay after the step; else AdamW's decay
  double clip_value = std::numeric_limits<double>::infinity();
  // Updates of each mean since it was zero, this one included, for the bias corrections.
  std::int64_t steps1 = 1, steps2 = 1, steps3 = 1;
  bool first = false;  // there is no gradient of a step before
  std::optional<ElementNumbers> stochastic = {};
};

/// One update, in one pass over memory. All tensors: (n), contiguous; states are float32, the
/// others as in adamw().
///   g = clipped(factor * gradient);  d = g - g of the step before, 0 in the first
///   m = b1 m + (1 - b1) g;  u = b2 u + (1 - b2) d;  v = b3 v + (1 - b3) (g + b2 d)^2
///   p -= lr (m / (1 - b1^t) + b2 u / (1 - b2^t)) / (sqrt(v / (1 - b3^t)) + epsilon)
/// `before`: -g of the step before.
void adan(const Stream& stream, const Tensor& parameter, const Tensor& weights,
          const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& u,
          const Tensor& v, const Tensor& before, const AdanOptions& options);

}  // namespace triax
