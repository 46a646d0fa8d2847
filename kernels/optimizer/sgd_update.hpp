// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step of one element by SGD, shared by the host loops and the device kernels.
#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/sgd.hpp"

namespace triax {

/// SGD without momentum. The numbers of a step are the same for all elements and rounded to float
/// once.
struct SgdRule {
  static constexpr int states = 0;

  explicit SgdRule(const SgdOptions& o)
      : rate(static_cast<float>(o.learning_rate)), decay(static_cast<float>(o.weight_decay)) {}

  /// Updates p in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p) const { p -= rate * (g + decay * p); }

  float rate, decay;
};

template <bool nesterov>
struct MomentumRule {
  static constexpr int states = 1;

  explicit MomentumRule(const SgdOptions& o)
      : rate(static_cast<float>(o.learning_rate)),
        decay(static_cast<float>(o.weight_decay)),
        keep(static_cast<float>(o.momentum)),
        take(static_cast<float>(o.first ? 1.0 : 1.0 - o.dampening)) {}

  /// Updates p and v in place, given the clipped gradient.
  TRIAX_HOST_DEVICE void operator()(float g, float& p, float& v) const {
    g += decay * p;
    v = keep * v + take * g;
    p -= rate * (nesterov ? g + keep * v : v);
  }

  float rate, decay, keep, take;
};

/// Calls step(rule, velocities...) with the rule that `options` ask for. `velocity`: float*.
template <class Step>
void with_sgd_rule(const SgdOptions& options, float* velocity, const Step& step) {
  if (options.momentum == 0.0)
    step(SgdRule(options));
  else if (options.nesterov)
    step(MomentumRule<true>(options), velocity);
  else
    step(MomentumRule<false>(options), velocity);
}

}  // namespace triax
