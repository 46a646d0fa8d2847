// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layer normalisation in plain loops and double precision: the oracle of
// kernels/norm/layernorm.hpp.
#include <cmath>
#include <cstddef>
#include <vector>

namespace triax::reference {

struct LayerNormGradients {
  std::vector<double> dx;       // (rows, columns)
  std::vector<double> dweight;  // (columns)
  std::vector<double> dbias;    // (columns)
};

/// (x - mean) * rstd for each row of x (rows, columns); also sets rstd.
inline std::vector<double> standardised(const std::vector<double>& x, std::size_t columns,
                                        double epsilon, std::vector<double>& rstd) {
  std::vector<double> out(x.size());
  rstd.assign(x.size() / columns, 0.0);
  for (std::size_t r = 0; r < rstd.size(); ++r) {
    const double* row = x.data() + r * columns;
    double mean = 0.0;
    double variance = 0.0;
    for (std::size_t c = 0; c < columns; ++c) mean += row[c] / static_cast<double>(columns);
    for (std::size_t c = 0; c < columns; ++c)
      variance += (row[c] - mean) * (row[c] - mean) / static_cast<double>(columns);
    rstd[r] = 1.0 / std::sqrt(variance + epsilon);
    for (std::size_t c = 0; c < columns; ++c) out[r * columns + c] = (row[c] - mean) * rstd[r];
  }
  return out;
}

/// x: (rows, columns); weight, bias: (columns).
inline std::vector<double> layernorm_forward(const std::vector<double>& x,
                                             const std::vector<double>& weight,
                                             const std::vector<double>& bias, double epsilon) {
  std::vector<double> rstd;
  std::vector<double> y = standardised(x, weight.size(), epsilon, rstd);
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = y[i] * weight[i % weight.size()] + bias[i % weight.size()];
  return y;
}

/// Gradients of x, weight and bias from dy (rows, columns).
inline LayerNormGradients layernorm_backward(const std::vector<double>& dy,
                                             const std::vector<double>& x,
                                             const std::vector<double>& weight, double epsilon) {
  const std::size_t columns = weight.size();
  std::vector<double> rstd;
  const std::vector<double> xhat = standardised(x, columns, epsilon, rstd);
  LayerNormGradients out{std::vector<double>(x.size()), std::vector<double>(columns),
                         std::vector<double>(columns)};
  for (std::size_t r = 0; r < rstd.size(); ++r) {
    double mean_g = 0.0;
    double mean_gx = 0.0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = r * columns + c;
      out.dweight[c] += dy[i] * xhat[i];
      out.dbias[c] += dy[i];
      mean_g += dy[i] * weight[c] / static_cast<double>(columns);
      mean_gx += dy[i] * weight[c] * xhat[i] / static_cast<double>(columns);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = r * columns + c;
      out.dx[i] = rstd[r] * (dy[i] * weight[c] - mean_g - xhat[i] * mean_gx);
    }
  }
  return out;
}

}  // namespace triax::reference
