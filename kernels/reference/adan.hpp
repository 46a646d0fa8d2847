// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adan in plain loops and double precision: the oracle of kernels/optimizer/adan.hpp. Algorithm 1
// of Xie et al. 2022, with the previous gradient negated as in the authors' code.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/optimizer/adan.hpp"

namespace triax::reference {

struct AdanState {
  std::vector<double> parameter;
  std::vector<double> m, u, v, before;
};

inline void adan(AdanState& state, const std::vector<double>& gradient, float factor,
                 const AdanOptions& options) {
  const auto corrected = [](double mean, double beta, std::int64_t steps) {
    return mean / (1.0 - std::pow(beta, static_cast<double>(steps)));
  };
  const double decay = options.learning_rate * options.weight_decay;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = std::clamp(static_cast<double>(factor) * gradient[i], -options.clip_value,
                                options.clip_value);
    const double d = options.first ? 0.0 : g + state.before[i];
    const double ahead = g + options.beta2 * d;
    state.m[i] = options.beta1 * state.m[i] + (1.0 - options.beta1) * g;
    state.u[i] = options.beta2 * state.u[i] + (1.0 - options.beta2) * d;
    state.v[i] = options.beta3 * state.v[i] + (1.0 - options.beta3) * ahead * ahead;
    const double root = std::sqrt(corrected(state.v[i], options.beta3, options.steps3));
    const double mean = corrected(state.m[i], options.beta1, options.steps1);
    const double change = options.beta2 * corrected(state.u[i], options.beta2, options.steps2);
    if (!options.proximal) state.parameter[i] *= 1.0 - decay;
    state.parameter[i] -= options.learning_rate * (mean + change) / (root + options.epsilon);
    if (options.proximal) state.parameter[i] /= 1.0 + decay;
    state.before[i] = -g;
  }
}

}  // namespace triax::reference
