// SPDX-License-Identifier: Apache-2.0
#pragma once
// SGD in plain loops and double precision: the oracle of kernels/optimizer/sgd.hpp, step by step as
// PyTorch does it.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/sgd.hpp"

namespace triax::reference {

struct SgdState {
  std::vector<double> parameter;
  std::vector<double> velocity;
};

inline void sgd(SgdState& state, const std::vector<double>& gradient, float factor,
                const SgdOptions& options) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                          options.clip_value);
    g += options.weight_decay * state.parameter[i];
    if (options.momentum != 0.0) {
      double& v = state.velocity[i];
      v = options.first ? g : options.momentum * v + (1.0 - options.dampening) * g;
      g = options.nesterov ? g + options.momentum * v : v;
    }
    state.parameter[i] -= options.learning_rate * g;
  }
}

}  // namespace triax::reference
