#pragma once
// Sums over a whole tensor: of the losses, and of squares for the global gradient norm. What
// follows from that norm for a step.
#include <cmath>
#include <limits>

#include "kernels/base/device/device.hpp"
#include "kernels/base/device/host_device.hpp"
#include "kernels/optimizer/norm.hpp"

namespace triax {

/// total += the sum of x, in double and in an order that depends on the size of x alone. x:
/// contiguous; total: (1) float64 in the stream's memory, so that nothing waits for the stream.
void add_sum(const Stream& stream, const Tensor& total, const Tensor& x);

/// total += the sum of the squares of x, likewise.
void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x);

/// How a step's gradients are scaled.
struct ClipRule {
  double most = 0.0;        // of the norm: gradients beyond are clipped to it; 0: none are
  double loss_scale = 1.0;  // what the loss, and so the gradients, were multiplied with

  /// Of the gradients without that factor, from the sum of their squares. NaN where the loss is not
  /// finite: the step cannot be used.
  TRIAX_HOST_DEVICE double norm(double squares, double loss) const {
    return loss - loss == 0.0 ? std::sqrt(squares) / loss_scale : nan();
  }
  /// What gradients are multiplied with; NaN where the norm is not finite.
  TRIAX_HOST_DEVICE float factor(double norm) const {
    if (norm - norm != 0.0) return static_cast<float>(nan());
    const double clip = most / (norm + 1e-6);
    return static_cast<float>((most > 0.0 && clip < 1.0 ? clip : 1.0) / loss_scale);
  }

 private:
  static constexpr double nan() { return std::numeric_limits<double>::quiet_NaN(); }
};

/// factor = what adamw() multiplies gradients with, from sums = {squares of the gradients, loss},
/// of the whole model. Where it is NaN it stays so: behind a step that could not be used nothing
/// changes until the host has seen that. factor: (1) float32; sums: (2) float64; in the stream's
/// memory.
void clip_factor(const Stream& stream, const Tensor& factor, const Tensor& sums,
                 const ClipRule& rule);

}  // namespace triax
