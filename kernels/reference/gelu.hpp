// SPDX-License-Identifier: Apache-2.0
#pragma once
// GELU (tanh approximation) in plain loops and double precision: the oracle of
// kernels/activation/gelu.hpp.
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace triax::reference {

inline double gelu(double x) {
  const double u = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(u));
}

inline double gelu_derivative(double x) {
  const double slope = std::sqrt(2.0 / std::numbers::pi);
  const double t = std::tanh(slope * (x + 0.044715 * x * x * x));
  const double du = slope * (1.0 + 3.0 * 0.044715 * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * du;
}

inline std::vector<double> gelu_forward(const std::vector<double>& x) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = gelu(x[i]);
  return y;
}

inline std::vector<double> gelu_backward(const std::vector<double>& dy,
                                         const std::vector<double>& x) {
  std::vector<double> dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = dy[i] * gelu_derivative(x[i]);
  return dx;
}

}  // namespace triax::reference
