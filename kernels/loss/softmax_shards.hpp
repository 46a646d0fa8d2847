// SPDX-License-Identifier: Apache-2.0
#pragma once
// Softmax statistics of one row of logits, shared by the host loops and the device kernels.
#include <cmath>
#include <cstdint>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// Logarithm of the sum of a row's exponentials; `sum` is relative to `largest`.
TRIAX_HOST_DEVICE inline double log_sum_exp(double largest, double sum) {
  return largest + std::log(sum);
}

/// Softmax statistics of a row, merged from those of its shards.
struct MergedRow {
  double lse;
  double label_logit;
};

/// Shard s has its {maximum, sum of exponentials, logit of the label} at stats + s * shard_stride.
TRIAX_HOST_DEVICE inline MergedRow merge_shards(const float* stats, std::int64_t shards,
                                                std::int64_t shard_stride) {
  double largest = -static_cast<double>(INFINITY);
  for (std::int64_t s = 0; s < shards; ++s) {
    const double maximum = static_cast<double>(stats[s * shard_stride]);
    largest = maximum > largest ? maximum : largest;
  }
  double total = 0.0;
  double label_logit = 0.0;
  for (std::int64_t s = 0; s < shards; ++s) {
    const float* shard = stats + s * shard_stride;
    // A shard without real columns has no maximum; every other shard's sum is at least 1 or NaN.
    if (shard[1] != 0.0F)
      total += static_cast<double>(shard[1]) * std::exp(static_cast<double>(shard[0]) - largest);
    label_logit += static_cast<double>(shard[2]);
  }
  return {log_sum_exp(largest, total), label_logit};
}

/// Loss of a row with a label. A z_coefficient of 0 adds nothing, not even to an infinite loss.
TRIAX_HOST_DEVICE inline double loss_of(const MergedRow& row, float z_coefficient) {
  const double loss = row.lse - row.label_logit;
  if (z_coefficient == 0.0F) return loss;
  return loss + static_cast<double>(z_coefficient) * row.lse * row.lse;
}

/// Factor of the softmax in a row's gradient, by the loss and the z-loss together.
TRIAX_HOST_DEVICE inline float softmax_factor(float scale, float lse, float z_coefficient) {
  return z_coefficient == 0.0F ? scale : scale * (1.0F + 2.0F * z_coefficient * lse);
}

}  // namespace triax
