// SPDX-License-Identifier: Apache-2.0
#pragma once
// Residuals and bias gradients in plain loops and double precision: the oracle of
// kernels/activation/elementwise.hpp.
#include <cstddef>
#include <vector>

namespace triax::reference {

/// x + a + bias. x, a: (rows, columns); bias: (columns).
inline std::vector<double> residual_forward(const std::vector<double>& x,
                                            const std::vector<double>& a,
                                            const std::vector<double>& bias) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + a[i] + bias[i % bias.size()];
  return y;
}

/// Column sums of dy (rows, columns).
inline std::vector<double> bias_backward(const std::vector<double>& dy, std::size_t columns) {
  std::vector<double> dbias(columns, 0.0);
  for (std::size_t i = 0; i < dy.size(); ++i) dbias[i % columns] += dy[i];
  return dbias;
}

}  // namespace triax::reference
