// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of one element by AdamW and Adam, shared by the host loops and the device kernels.
#include <cmath>
#include <cstdint>

#include "kernels/base/check.hpp"
#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/adamw.hpp"

namespace triax {

inline void check_steps(const AdamWOptions& options) {
  check(options.step >= 1, "AdamW step {}: steps count from 1", options.step);
}

/// The numbers of a step that are the same for all elements, rounded to float once.
template <bool decoupled>
struct AdamRule {
  static constexpr int states = 2;

  explicit AdamRule(const AdamWOptions& o)
      : keep1(static_cast<float>(o.beta1)),
        take1(static_cast<float>(1.0 - o.beta1)),
        keep2(static_cast<float>(o.beta2)),
        take2(static_cast<float>(1.0 - o.beta2)),
        rate(static_cast<float>(o.learning_rate / correction(o.beta1, o.step))),
        unbias2(static_cast<float>(1.0 / correction(o.beta2, o.step))),
        epsilon(static_cast<float>(o.epsilon)),
        decay(static_cast<float>(decoupled ? o.learning_rate * o.weight_decay : o.weight_decay)) {}

  static double correction(double beta, std::int64_t step) {
    return 1.0 - std::pow(beta, static_cast<double>(step));
  }

  /// Updates p, m and v in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p, float& m, float& v) const {
    if constexpr (!decoupled) g += decay * p;
    m = keep1 * m + take1 * g;
    v = keep2 * v + take2 * (g * g);
    const float scaled = rate * m / (std::sqrt(v * unbias2) + epsilon);
    if constexpr (decoupled)
      p -= decay * p + scaled;
    else
      p -= scaled;
  }

  float keep1, take1, keep2, take2, rate, unbias2, epsilon, decay;
};

}  // namespace triax
