// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products in plain loops and double precision: the oracle of kernels/matmul/matmul.hpp.
#include <cstdint>
#include <vector>

namespace triax::reference {

/// a b. a: (m, k), b: (k, n), row-major; returns (m, n).
inline std::vector<double> matmul(const std::vector<double>& a, const std::vector<double>& b,
                                  std::int64_t m, std::int64_t n, std::int64_t k) {
  std::vector<double> c(static_cast<std::size_t>(m * n), 0.0);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j) c[at(i * n + j)] += a[at(i * k + l)] * b[at(l * n + j)];
  return c;
}

/// Column sums of a (m, n): the gradient of a bias.
inline std::vector<double> column_sums(const std::vector<double>& a, std::int64_t m,
                                       std::int64_t n) {
  return matmul(std::vector<double>(static_cast<std::size_t>(m), 1.0), a, 1, n, m);
}

}  // namespace triax::reference
