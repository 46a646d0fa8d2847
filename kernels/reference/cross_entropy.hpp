// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cross-entropy in plain loops and double precision: the oracle of kernels/loss/cross_entropy.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/loss/cross_entropy.hpp"

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

/// The logits under a soft cap; 0: none.
inline std::vector<double> capped_logits(std::vector<double> logits, double cap) {
  if (cap != 0.0)
    for (double& logit : logits) logit = cap * std::tanh(logit / cap);
  return logits;
}

/// Loss of each row with the options, 0 where the label is negative.
inline std::vector<double> cross_entropy_loss(const std::vector<double>& stored,
                                              const std::vector<std::int32_t>& labels,
                                              const LogitOptions& options = {}) {
  const std::size_t columns = stored.size() / labels.size();
  const std::vector<double> logits = capped_logits(stored, options.soft_cap);
  const std::vector<double> lse = log_sum_exp(logits, columns);
  std::vector<double> loss(labels.size(), 0.0);
  for (std::size_t r = 0; r < labels.size(); ++r)
    if (labels[r] >= 0)
      loss[r] = lse[r] - logits[r * columns + static_cast<std::size_t>(labels[r])] +
                options.z_coefficient * lse[r] * lse[r];
  return loss;
}

/// Gradient of scale * (sum of the losses) by the stored logits.
inline std::vector<double> cross_entropy_backward(const std::vector<double>& stored,
                                                  const std::vector<std::int32_t>& labels,
                                                  double scale, const LogitOptions& options = {}) {
  const std::size_t columns = stored.size() / labels.size();
  const std::vector<double> logits = capped_logits(stored, options.soft_cap);
  const std::vector<double> lse = log_sum_exp(logits, columns);
  std::vector<double> gradient(stored.size(), 0.0);
  for (std::size_t r = 0; r < labels.size(); ++r) {
    if (labels[r] < 0) continue;
    for (std::size_t c = 0; c < columns; ++c)
      gradient[r * columns + c] = scale * (1.0 + 2.0 * options.z_coefficient * lse[r]) *
                                  std::exp(logits[r * columns + c] - lse[r]);
    gradient[r * columns + static_cast<std::size_t>(labels[r])] -= scale;
    for (std::size_t c = 0; c < columns && options.soft_cap != 0.0F; ++c) {
      const double tanh = logits[r * columns + c] / options.soft_cap;
      gradient[r * columns + c] *= 1.0 - tanh * tanh;
    }
  }
  return gradient;
}

}  // namespace triax::reference
