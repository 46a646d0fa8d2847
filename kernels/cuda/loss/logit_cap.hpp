// SPDX-License-Identifier: Apache-2.0
#pragma once
// Soft cap of logits, cap * tanh(logit / cap), as kernels apply it to the logits that they load.
#include <cmath>

#include "kernels/base/check.hpp"
#include "kernels/cuda/launch/launch.hpp"

namespace triax::cuda {

/// Logits as they are stored.
struct NoCap {
  static constexpr int pieces_together = 4;  // of a row, per thread (long_row.hpp)

  TRIAX_DEVICE float operator()(float logit) const { return logit; }
  TRIAX_DEVICE float slope(float) const { return 1.0F; }
};

struct SoftCap {
  static constexpr int pieces_together = 2;  // hyperbolic tangents take registers

  float cap;
  float reciprocal;

  explicit SoftCap(float of) : cap(of), reciprocal(1.0F / of) {
    check(of > 0.0F, "a soft cap of {}, which must be positive", of);
  }
  TRIAX_DEVICE float operator()(float logit) const { return cap * std::tanh(logit * reciprocal); }
  /// Derivative of the capped logit by the stored one: 1 - (capped / cap)^2. At least 0, for a
  /// capped logit of minus infinity (padding) too.
  TRIAX_DEVICE float slope(float capped) const {
    const float t = capped * reciprocal;
    return std::fmax(0.0F, 1.0F - t * t);
  }
};

/// Calls body(NoCap{}) for a cap of 0, else body(SoftCap{cap}).
template <class Body>
void with_cap(float cap, const Body& body) {
  if (cap == 0.0F)
    body(NoCap{});
  else
    body(SoftCap(cap));
}

}  // namespace triax::cuda
