// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW with decoupled weight decay (Loshchilov & Hutter 2019), and Adam (Kingma & Ba 2015) with
// decay in the gradient, on a flat range of parameters.
#include <limits>
#include <optional>

#include "kernels/base/device/device.hpp"
#include "kernels/random/element_numbers.hpp"

namespace triax {

/// Options of one step. They are double because 1 - beta2 loses digits in float; the update itself
/// is float32.
struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  bool decoupled = true;  // AdamW: p -= lr * weight_decay * p; else g += weight_decay * p
  // Each element of the gradient is clipped to [-clip_value, clip_value].
  double clip_value = std::numeric_limits<double>::infinity();
  std::int64_t step = 1;  // counted from 1, for the bias correction
  // If set, `weights` are rounded stochastically with the random words of these elements; otherwise
  // to nearest.
  std::optional<ElementNumbers> stochastic = {};
};

/// One update, in one pass over memory. All tensors: (n), contiguous.
///   g = clipped(factor * gradient);  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
///   p -= lr * (weight_decay * p + (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon))
/// The parameter p and the moments are float32, the gradient has any type. If the model computes in
/// 16 bits, p is the master copy and `weights` receives p rounded; else `weights` is empty.
/// `factor`: (1) float32 in the stream's memory, from clip_factor(); if it is NaN, nothing changes.
void adamw(const Stream& stream, const Tensor& parameter, const Tensor& weights,
           const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
           const AdamWOptions& options);

}  // namespace triax
