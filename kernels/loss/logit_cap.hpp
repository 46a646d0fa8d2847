// SPDX-License-Identifier: Apache-2.0
#pragma once
// Logits as the loss sees them on the host: as stored, or under a soft cap.
#include "kernels/simd/vector_group.hpp"

namespace triax {

/// Logits as stored.
struct NoCap {
  template <class V>
  V operator()(const V& logit) const {
    return logit;
  }
};

/// cap tanh(logit / cap), of a float, a vector or a group of vectors.
struct SoftCap {
  float cap;
  float inverse = 1.0F / cap;

  template <class V>
  V operator()(V logit) const {
    return cap * fast_tanh(logit * inverse);
  }
  template <int n>
  VectorGroup<n> operator()(const VectorGroup<n>& logits) const {
    return detail::each([*this](FloatVector v) { return (*this)(v); }, logits);
  }
  /// The capped logit and its derivative by the logit.
  template <class V>
  ValueAndSlope<V> with_slope(V logit) const {
    const ValueAndSlope<V> of = tanh_and_slope(logit * inverse);
    return {cap * of.value, of.slope};
  }
};

/// body(NoCap{}) if `cap` is 0, else body(SoftCap{cap}).
template <class Body>
void with_cap(float cap, const Body& body) {
  if (cap == 0.0F)
    body(NoCap{});
  else
    body(SoftCap{cap});
}

}  // namespace triax
