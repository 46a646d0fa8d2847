// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lion in plain loops and double precision: the oracle of kernels/optimizer/lion.hpp. Algorithm 2
// of Chen et al. 2023.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/lion.hpp"

namespace triax::reference {

struct LionState {
  std::vector<double> parameter;
  std::vector<double> m;
};

inline void lion(LionState& state, const std::vector<double>& gradient, float factor,
                 const LionOptions& options) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                                options.clip_value);
    const double mean = options.beta1 * state.m[i] + (1.0 - options.beta1) * g;
    const double sign = mean > 0.0 ? 1.0 : mean < 0.0 ? -1.0 : 0.0;
    state.parameter[i] *= 1.0 - options.learning_rate * options.weight_decay;
    state.parameter[i] -= options.learning_rate * sign;
    state.m[i] = options.beta2 * state.m[i] + (1.0 - options.beta2) * g;
  }
}

}  // namespace triax::reference
