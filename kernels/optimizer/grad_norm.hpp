// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums over a whole tensor: losses, and squares for the global gradient norm. Gradient clipping and
// loss scaling follow from that norm.
#include <cmath>
#include <limits>

#include "kernels/base/device/device.hpp"
#include "kernels/base/device/host_device.hpp"

namespace triax {

/// total += sum of x, in double and in an order that depends only on the size of x. x: contiguous;
/// total: (1) float64 in the stream's memory, so that nothing waits for the stream.
void add_sum(const Stream& stream, const Tensor& total, const Tensor& x);

/// total += sum of the squares of x, under the same conditions.
void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x);

/// Scaling of a step's gradients.
struct ClipRule {
  double most = 0.0;        // largest norm; larger gradients are clipped to it; 0: no clipping
  double loss_scale = 1.0;  // factor of the loss, and so of the gradients

  /// Norm of the gradients without loss_scale, from the sum of their squares. NaN if the loss is
  /// not finite: the step must be skipped.
  TRIAX_HOST_DEVICE double norm(double squares, double loss) const {
    return loss - loss == 0.0 ? std::sqrt(squares) / loss_scale : nan();
  }
  /// Factor to multiply the gradients with; NaN if the norm is not finite.
  TRIAX_HOST_DEVICE float factor(double norm) const {
    if (norm - norm != 0.0) return static_cast<float>(nan());
    const double clip = most / (norm + 1e-6);
    return static_cast<float>((most > 0.0 && clip < 1.0 ? clip : 1.0) / loss_scale);
  }

 private:
  static constexpr double nan() { return std::numeric_limits<double>::quiet_NaN(); }
};

/// Sets `factor`, by which adamw() multiplies gradients, from sums = {squares of the gradients,
/// loss} of the whole model. NaN stays NaN: after a skipped step nothing changes until the host has
/// seen it. factor: (1) float32; sums: (2) float64; both in the stream's memory.
void clip_factor(const Stream& stream, const Tensor& factor, const Tensor& sums,
                 const ClipRule& rule);

}  // namespace triax
