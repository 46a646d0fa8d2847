// SPDX-License-Identifier: Apache-2.0
#pragma once
// GEGLU in plain loops and double precision: the oracle of kernels/activation/geglu.hpp.
#include <cstddef>
#include <vector>

#include "kernels/reference/gelu.hpp"

namespace triax::reference {

/// x: (rows, 2 columns), gate first; returns (rows, columns).
inline std::vector<double> geglu_forward(const std::vector<double>& x, std::size_t rows,
                                         std::size_t columns) {
  std::vector<double> y(rows * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = r * 2 * columns + c;
      y[r * columns + c] = gelu(x[i]) * x[i + columns];
    }
  return y;
}

/// dx (rows, 2 columns) from dy (rows, columns).
inline std::vector<double> geglu_backward(const std::vector<double>& dy,
                                          const std::vector<double>& x, std::size_t rows,
                                          std::size_t columns) {
  std::vector<double> dx(rows * 2 * columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = r * 2 * columns + c;
      dx[i] = dy[r * columns + c] * x[i + columns] * gelu_derivative(x[i]);
      dx[i + columns] = dy[r * columns + c] * gelu(x[i]);
    }
  return dx;
}

}  // namespace triax::reference
