// SPDX-License-Identifier: Apache-2.0
#pragma once
// GELU, by the tanh approximation or by the error function, in plain loops and double precision:
// the oracle of kernels/activation/gelu.hpp.
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "kernels/activation/gelu.hpp"

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

/// x times the normal distribution at x.
inline double erf_gelu(double x) {
  return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
}

inline double erf_gelu_derivative(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
}

inline std::vector<double> gelu_forward(const std::vector<double>& x, Gelu kind = Gelu::tanh) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = kind == Gelu::erf ? erf_gelu(x[i]) : gelu(x[i]);
  return y;
}

inline std::vector<double> gelu_backward(const std::vector<double>& dy,
                                         const std::vector<double>& x, Gelu kind = Gelu::tanh) {
  std::vector<double> dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    dx[i] = dy[i] * (kind == Gelu::erf ? erf_gelu_derivative(x[i]) : gelu_derivative(x[i]));
  return dx;
}

}  // namespace triax::reference
