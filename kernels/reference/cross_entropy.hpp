// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross-entropy in plain loops and double precision: the oracle of kernels/loss/cross_entropy.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace triax::reference {

/// Log-sum-exp of each row. logits: (rows, columns).
inline std::vector<double> log_sum_exp(const std::vector<double>& logits, std::size_t columns) {
  std::vector<double> lse(logits.size() / columns);
  for (std::size_t r = 0; r < lse.size(); ++r) {
    const double* row = logits.data() + r * columns;
    const double largest = *std::max_element(row, row + columns);
    double total = 0.0;
    for (std::size_t c = 0; c < columns; ++c) total += std::exp(row[c] - largest);
    lse[r] = largest + std::log(total);
  }
  return lse;
}

/// Loss of each row, 0 where the label is -1.
inline std::vector<double> cross_entropy_loss(const std::vector<double>& logits,
                                              const std::vector<std::int32_t>& labels) {
  const std::size_t columns = logits.size() / labels.size();
  std::vector<double> loss = log_sum_exp(logits, columns);
  for (std::size_t r = 0; r < labels.size(); ++r)
    loss[r] =
        labels[r] < 0 ? 0.0 : loss[r] - logits[r * columns + static_cast<std::size_t>(labels[r])];
  return loss;
}

/// Gradient of scale * (sum of the losses) by the logits.
inline std::vector<double> cross_entropy_backward(const std::vector<double>& logits,
                                                  const std::vector<std::int32_t>& labels,
                                                  double scale) {
  const std::size_t columns = logits.size() / labels.size();
  const std::vector<double> lse = log_sum_exp(logits, columns);
  std::vector<double> gradient(logits.size(), 0.0);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] < 0) continue;
    for (std::size_t c = 0; c < columns; ++c)
      gradient[r * columns + c] = scale * std::exp(logits[r * columns + c] - lse[r]);
    gradient[r * columns + static_cast<std::size_t>(labels[r])] -= scale;
  }
  return gradient;
}

}  // namespace triax::reference
