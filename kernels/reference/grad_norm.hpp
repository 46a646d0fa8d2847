// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums in plain loops and double precision: the oracle of kernels/optimizer/grad_norm.hpp.
#include <vector>

namespace triax::reference {

inline double sum(const std::vector<double>& values) {
  double total = 0.0;
  for (const double value : values) total += value;
  return total;
}

inline double sum_of_squares(const std::vector<double>& values) {
  double total = 0.0;
  for (const double value : values) total += value * value;
  return total;
}

}  // namespace triax::reference
