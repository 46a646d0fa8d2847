#pragma once
// AdamW with decoupled weight decay (Loshchilov & Hutter 2019) on a flat range of parameters.
#include "kernels/base/device.hpp"

namespace triax {

struct AdamWOptions {
  float learning_rate = 1e-3F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;    // decoupled: p -= lr * weight_decay * p
  float gradient_scale = 1.0F;  // the clip factor, applied as the gradient is read
  std::int64_t step = 1;        // counted from 1, for the bias correction
};

/// One update, in one pass over memory. All (n), contiguous, float32:
///   g = gradient_scale * gradient;  m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
///   p -= lr * (weight_decay * p + (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon))
void adamw(const Stream& stream, const Tensor& parameter, const Tensor& gradient, const Tensor& m,
           const Tensor& v, const AdamWOptions& options);

}  // namespace triax
