// SPDX-License-Identifier: Apache-2.0
#pragma once
// The AdamW step of one element, shared by the host loops and the device kernels.
#include <cmath>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/adamw.hpp"

namespace triax {

/// The factors of an AdamW step that are the same for all elements, rounded to float once.
struct AdamWFactors {
  explicit AdamWFactors(const AdamWOptions& o)
      : keep1(static_cast<float>(o.beta1)),
        take1(static_cast<float>(1.0 - o.beta1)),
        keep2(static_cast<float>(o.beta2)),
        take2(static_cast<float>(1.0 - o.beta2)),
        rate(static_cast<float>(o.learning_rate / correction(o.beta1, o.step))),
        unbias2(static_cast<float>(1.0 / correction(o.beta2, o.step))),
        epsilon(static_cast<float>(o.epsilon)),
        clip(static_cast<float>(o.clip_value)),
        decay(static_cast<float>(o.learning_rate * o.weight_decay)) {}

  static double correction(double beta, std::int64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step));
  }

  float keep1, take1, keep2, take2, rate, unbias2, epsilon, clip, decay;
};

/// The step of one element, given its gradient times the factor; updates p, m and v in place.
TRIAX_HOST_DEVICE inline void adamw_update(const AdamWFactors& f, float g, float& p, float& m,
                                           float& v) {
  g = g > f.clip ? f.clip : g;
  g = g < -f.clip ? -f.clip : g;
  m = f.keep1 * m + f.take1 * g;
  v = f.keep2 * v + f.take2 * (g * g);
  p -= f.decay * p + f.rate * m / (std::sqrt(v * f.unbias2) + f.epsilon);
}

}  // namespace triax
