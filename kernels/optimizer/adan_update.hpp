// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of one element by Adan, shared by the host loops and the device kernels.
#include <cmath>

#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/adan.hpp"

namespace triax {

/// The numbers of a step that are the same for all elements, rounded to float once.
struct AdanRule {
  static constexpr int states = 4;

  explicit AdanRule(const AdanOptions& o)
      : keep1(static_cast<float>(o.beta1)),
        take1(static_cast<float>(1.0 - o.beta1)),
        keep2(static_cast<float>(o.beta2)),
        take2(static_cast<float>(1.0 - o.beta2)),
        keep3(static_cast<float>(o.beta3)),
        take3(static_cast<float>(1.0 - o.beta3)),
        rate1(static_cast<float>(o.learning_rate / correction(o.beta1, o.steps1))),
        rate2(static_cast<float>(o.learning_rate * o.beta2 / correction(o.beta2, o.steps2))),
        unbias3(static_cast<float>(1.0 / correction(o.beta3, o.steps3))),
        epsilon(static_cast<float>(o.epsilon)),
        difference(o.first ? 0.0F : 1.0F),
        before_step(static_cast<float>(o.proximal ? 1.0 : 1.0 - o.learning_rate * o.weight_decay)),
        after_step(static_cast<float>(o.proximal ? 1.0 / (1.0 + o.learning_rate * o.weight_decay)
                                                 : 1.0)) {}

  static double correction(double beta, std::int64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step));
  }

  /// Updates p and the states in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p, float& m, float& u, float& v,
                                    float& before) const {
    const float d = difference * (g + before);
    m = keep1 * m + take1 * g;
    u = keep2 * u + take2 * d;
    const float ahead = g + keep2 * d;
    v = keep3 * v + take3 * (ahead * ahead);
    const float step = (rate1 * m + rate2 * u) / (std::sqrt(v * unbias3) + epsilon);
    p = (p * before_step - step) * after_step;
    before = -g;
  }

  float keep1, take1, keep2, take2, keep3, take3, rate1, rate2, unbias3, epsilon, difference,
      before_step, after_step;
};

}  // namespace triax
