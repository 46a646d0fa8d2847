// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adagrad in plain loops and double precision: the oracle of kernels/optimizer/adagrad.hpp. Duchi
// et al. 2011, step by step as PyTorch does it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/adagrad.hpp"

namespace triax::reference {

struct AdagradState {
  std::vector<double> parameter;
  std::vector<double> sum;
};

inline void adagrad(AdagradState& state, const std::vector<double>& gradient, float factor,
                    const AdagradOptions& options) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                          options.clip_value);
    g += options.weight_decay * state.parameter[i];
    state.sum[i] += g * g;
    state.parameter[i] -= options.learning_rate * g / (std::sqrt(state.sum[i]) + options.epsilon);
  }
}

}  // namespace triax::reference
