// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW and Adam in plain loops and double precision: the oracle of kernels/optimizer/adamw.hpp.
// Algorithm 2 of Loshchilov & Hutter 2019, step by step as PyTorch does it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/adamw.hpp"

namespace triax::reference {

struct AdamWState {
  std::vector<double> parameter;
  std::vector<double> m;
  std::vector<double> v;
};

inline void adamw(AdamWState& state, const std::vector<double>& gradient, float factor,
                  const AdamWOptions& options) {
  const auto step = static_cast<double>(options.step);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                          options.clip_value);
    if (options.decoupled)
      state.parameter[i] *= 1.0 - options.learning_rate * options.weight_decay;
    else
      g += options.weight_decay * state.parameter[i];
    state.m[i] = options.beta1 * state.m[i] + (1.0 - options.beta1) * g;
    state.v[i] = options.beta2 * state.v[i] + (1.0 - options.beta2) * g * g;
    const double m_hat = state.m[i] / (1.0 - std::pow(options.beta1, step));
    const double v_hat = state.v[i] / (1.0 - std::pow(options.beta2, step));
    state.parameter[i] -= options.learning_rate * m_hat / (std::sqrt(v_hat) + options.epsilon);
  }
}

}  // namespace triax::reference
