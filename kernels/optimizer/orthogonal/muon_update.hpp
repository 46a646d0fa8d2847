// SPDX-License-Identifier: Apache-2.0
#pragma once
// The halves of Muon's step for one element, shared by the host loops and the device kernels.
#include <cmath>

#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/orthogonal/muon.hpp"

namespace triax {

/// The direction takes the place of the parameter.
struct MuonMomentumRule {
  static constexpr int states = 1;

  explicit MuonMomentumRule(const MuonOptions& o)
      : take(static_cast<float>(1.0 - o.momentum)),
        ahead(static_cast<float>(o.nesterov ? o.momentum : 1.0)) {}

  /// Sets `direction` and updates m, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& direction, float& m) const {
    m += take * (g - m);
    direction = ahead == 1.0F ? m : g + ahead * (m - g);
  }

  float take, ahead;
};

/// The direction takes the place of the gradient, without factor and clipping.
struct MuonStepRule {
  static constexpr int states = 1;

  explicit MuonStepRule(const MuonOptions& o)
      : rate(static_cast<float>(o.learning_rate)),
        decay(static_cast<float>(o.learning_rate * o.weight_decay)) {}

  /// Updates p in place. The gradient is not used.
  TRIAX_HOST_DEVICE void operator()(float, float& p, float& direction) const {
    p -= decay * p + rate * direction;
  }

  float rate, decay;
};

/// Divisor of divide_by_norm().
TRIAX_HOST_DEVICE inline float norm_divisor(double squares, double epsilon) {
  const double norm = std::sqrt(squares);
  return static_cast<float>(norm > epsilon ? norm : epsilon);
}

}  // namespace triax
