// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root-mean-square normalisation of queries or keys in plain loops and double precision: the oracle
// of kernels/norm/qk_norm.hpp. x, dy: (heads, columns); weight: (columns), its offset added by the
// caller; sums, dots: (heads).
#include <cmath>
#include <cstddef>
#include <vector>

namespace triax::reference {

struct QkNormGradients {
  std::vector<double> dx;       // (heads, columns)
  std::vector<double> dweight;  // (columns)
};

/// Sum of squares of each head.
inline std::vector<double> qk_norm_sums(const std::vector<double>& x, std::size_t columns) {
  std::vector<double> sums(x.size() / columns);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i / columns] += x[i] * x[i];
  return sums;
}

/// The heads normalised by their sums, each of which counts `width` elements.
inline std::vector<double> qk_norm_forward(const std::vector<double>& x,
                                           const std::vector<double>& weight,
                                           const std::vector<double>& sums, double width,
                                           double epsilon) {
  const std::size_t columns = weight.size();
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = x[i] / std::sqrt(sums[i / columns] / width + epsilon) * weight[i % columns];
  return y;
}

/// Sum of dy weight x of each head.
inline std::vector<double> qk_norm_gradient_sums(const std::vector<double>& dy,
                                                 const std::vector<double>& x,
                                                 const std::vector<double>& weight) {
  const std::size_t columns = weight.size();
  std::vector<double> dots(x.size() / columns);
  for (std::size_t i = 0; i < x.size(); ++i)
    dots[i / columns] += dy[i] * weight[i % columns] * x[i];
  return dots;
}

/// Gradients of x and weight from dy.
inline QkNormGradients qk_norm_backward(const std::vector<double>& dy, const std::vector<double>& x,
                                        const std::vector<double>& weight,
                                        const std::vector<double>& sums,
                                        const std::vector<double>& dots, double width,
                                        double epsilon) {
  const std::size_t columns = weight.size();
  QkNormGradients out{std::vector<double>(x.size()), std::vector<double>(columns)};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t head = i / columns, c = i % columns;
    const double mean_square = sums[head] / width + epsilon;
    out.dx[i] = dy[i] * weight[c] / std::sqrt(mean_square) -
                x[i] * dots[head] / (width * mean_square * std::sqrt(mean_square));
    out.dweight[c] += dy[i] * x[i] / std::sqrt(mean_square);
  }
  return out;
}

}  // namespace triax::reference
