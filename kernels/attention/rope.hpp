// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding (Su et al. 2021) in Hugging Face's half-split order: element d pairs
// with element d + D/2, and the angle is position * frequency of pair d.
#include <cmath>
#include <numbers>

#include "kernels/base/device/device.hpp"
#include "kernels/base/device/host_device.hpp"

namespace triax {

/// Frequency of each pair: theta^(-2 d / D), with slow pairs slowed down by `factor`, so that a
/// model reads longer contexts than it was trained on (Llama 3.1). Speed is measured in turns over
/// the `original` context: at low_turns and below a frequency is divided by `factor`, from
/// high_turns on it is unchanged, and in between it is interpolated linearly.
struct RopeFrequencies {
  double theta;
  double factor = 1.0;
  double low_turns = 0.0, high_turns = 0.0;
  double original = 0.0;

  /// Frequency of pair d of `half` pairs, in radians per position.
  TRIAX_HOST_DEVICE double of(std::int64_t d, std::int64_t half) const {
    const double exponent = -static_cast<double>(d) / static_cast<double>(half);
    const double frequency = std::pow(theta, exponent);
    const double turns = original * frequency / (2.0 * std::numbers::pi);
    if (turns >= high_turns) return frequency;
    if (turns <= low_turns) return frequency / factor;
    const double kept = (turns - low_turns) / (high_turns - low_turns);
    return (1.0 - kept) * frequency / factor + kept * frequency;
  }
};

/// Cosine and sine of every angle. table: (2, T, D/2) float32, cosines first, computed in double.
void rope_table(const Stream& stream, const Tensor& table, const RopeFrequencies& frequencies);

/// Rotates each head in place by its position t. x: (B, T, H, D), strided over (B, T), heads
/// contiguous. `table` may be a slice of a longer table, for the positions that x has.
void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table);

/// An internal error unless `table` has an angle for each position and pair of x.
inline void check_rope_table(const Tensor& table, const Tensor& x) {
  const std::int64_t half = x.size(3) / 2;
  check(table.rank() == 3 && table.size(0) == 2 && table.size(1) >= x.size(1) &&
            table.size(2) == half && table.stride(1) == half && table.stride(2) == 1,
        "rope table {} for {}", table.shape(), x.shape());
}

/// The inverse rotation, in place: the gradient of rope_forward.
void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table);

}  // namespace triax
