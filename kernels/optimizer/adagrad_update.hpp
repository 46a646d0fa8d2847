// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of one element by Adagrad, shared by the host loops and the device kernels.
#include <cmath>

#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/adagrad.hpp"

namespace triax {

/// The numbers of a step that are the same for all elements, rounded to float once.
struct AdagradRule {
  static constexpr int states = 1;

  explicit AdagradRule(const AdagradOptions& o)
      : rate(static_cast<float>(o.learning_rate)),
        decay(static_cast<float>(o.weight_decay)),
        epsilon(static_cast<float>(o.epsilon)) {}

  /// Updates p and the sum in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p, float& sum) const {
    g += decay * p;
    sum += g * g;
    p -= rate * g / (std::sqrt(sum) + epsilon);
  }

  float rate, decay, epsilon;
};

}  // namespace triax
