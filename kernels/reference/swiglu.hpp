// SPDX-License-Identifier: Apache-2.0
#pragma once
// SwiGLU in plain loops and double precision: the oracle of kernels/activation/swiglu.hpp.
#include <cmath>
#include <cstddef>
#include <vector>

namespace triax::reference {

/// x: (rows, 2 columns), gate first; returns (rows, columns).
inline std::vector<double> swiglu_forward(const std::vector<double>& x, std::size_t rows,
                                          std::size_t columns) {
  std::vector<double> y(rows * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const double gate = x[r * 2 * columns + c];
      const double up = x[r * 2 * columns + columns + c];
      y[r * columns + c] = gate / (1.0 + std::exp(-gate)) * up;
    }
  return y;
}

/// dx (rows, 2 columns) from dy (rows, columns).
inline std::vector<double> swiglu_backward(const std::vector<double>& dy,
                                           const std::vector<double>& x, std::size_t rows,
                                           std::size_t columns) {
  std::vector<double> dx(rows * 2 * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = r * 2 * columns + c;
      const double s = 1.0 / (1.0 + std::exp(-x[i]));
      dx[i] = dy[r * columns + c] * x[i + columns] * (s + x[i] * s * (1.0 - s));
      dx[i + columns] = dy[r * columns + c] * x[i] * s;
    }
  return dx;
}

}  // namespace triax::reference
