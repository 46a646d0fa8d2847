// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of one element by Lion, shared by the host loops and the device kernels.
#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/lion.hpp"

namespace triax {

/// The numbers of a step that are the same for all elements, rounded to float once.
struct LionRule {
  static constexpr int states = 1;

  explicit LionRule(const LionOptions& o)
      : keep1(static_cast<float>(o.beta1)),
        take1(static_cast<float>(1.0 - o.beta1)),
        keep2(static_cast<float>(o.beta2)),
        take2(static_cast<float>(1.0 - o.beta2)),
        rate(static_cast<float>(o.learning_rate)),
        decay(static_cast<float>(o.learning_rate * o.weight_decay)) {}

  /// Updates p and m in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p, float& m) const {
    const float mean = keep1 * m + take1 * g;
    const float up = mean > 0.0F ? rate : 0.0F;
    p -= decay * p + (mean < 0.0F ? -rate : up);
    m = keep2 * m + take2 * g;
  }

  float keep1, take1, keep2, take2, rate, decay;
};

}  // namespace triax
