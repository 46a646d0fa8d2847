// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root-mean-square normalisation in plain loops and double precision: the oracle of
// kernels/norm/rmsnorm.hpp.
#include <cmath>
#include <cstddef>
#include <vector>

namespace triax::reference {

struct RmsNormGradients {
  std::vector<double> dx;       // (rows, columns)
  std::vector<double> dweight;  // (columns)
};

/// 1 / sqrt(mean of squares + epsilon) of `columns` elements from `row`.
inline double reciprocal_rms(const double* row, std::size_t columns, double epsilon) {
  double squares = 0.0;
  for (std::size_t c = 0; c < columns; ++c) squares += row[c] * row[c];
  return 1.0 / std::sqrt(squares / static_cast<double>(columns) + epsilon);
}

/// x: (rows, columns); weight: (columns), `offset` less than what the norm multiplies by.
inline std::vector<double> rmsnorm_forward(const std::vector<double>& x,
                                           const std::vector<double>& weight, double epsilon,
                                           double offset = 0.0) {
  const std::size_t columns = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += columns) {
    const double r = reciprocal_rms(x.data() + begin, columns, epsilon);
    for (std::size_t c = 0; c < columns; ++c)
      y[begin + c] = x[begin + c] * r * (weight[c] + offset);
  }
  return y;
}

/// Gradients of x and weight from dy (rows, columns).
inline RmsNormGradients rmsnorm_backward(const std::vector<double>& dy,
                                         const std::vector<double>& x,
                                         const std::vector<double>& weight, double epsilon,
                                         double offset = 0.0) {
  const std::size_t columns = weight.size();
  RmsNormGradients out{std::vector<double>(x.size()), std::vector<double>(columns)};
  for (std::size_t begin = 0; begin < x.size(); begin += columns) {
    const double r = reciprocal_rms(x.data() + begin, columns, epsilon);
    double mean_gx = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = begin + c;
      out.dweight[c] += dy[i] * x[i] * r;
      mean_gx += dy[i] * (weight[c] + offset) * x[i] * r / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = begin + c;
      out.dx[i] = r * (dy[i] * (weight[c] + offset) - x[i] * r * mean_gx);
    }
  }
  return out;
}

}  // namespace triax::reference
