// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary position embedding in plain loops and double precision: the oracle of
// kernels/attention/rope.hpp. Written as Hugging Face's rotate_half does it: x cos + (-x2, x1) sin.
#include <cmath>
#include <cstddef>
#include <vector>

namespace triax::reference {

/// Frequency of each pair of a head of `width` elements, in radians per position.
inline std::vector<double> rope_frequencies(double theta, std::size_t width) {
  std::vector<double> frequencies(width / 2);
  for (std::size_t d = 0; d < width / 2; ++d)
    frequencies[d] = std::pow(theta, -2.0 * static_cast<double>(d) / static_cast<double>(width));
  return frequencies;
}

/// x: (batch, length, heads, width), row-major; the first `rotated` elements of each head are
/// rotated by position. `direction` -1 rotates back, which is the gradient of the rotation.
inline std::vector<double> partial_rope(const std::vector<double>& x, std::size_t length,
                                        std::size_t heads, std::size_t width, std::size_t rotated,
                                        double theta, double direction = 1.0) {
  const std::size_t half = rotated / 2;
  const std::vector<double> frequencies = rope_frequencies(theta, rotated);
  std::vector<double> y = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t d = i % width;
    if (d >= rotated) continue;
    const std::size_t position = i / (width * heads) % length;
    const double angle = direction * static_cast<double>(position) * frequencies[d % half];
    const double partner = d < half ? -x[i + half] : x[i - half];
    y[i] = x[i] * std::cos(angle) + partner * std::sin(angle);
  }
  return y;
}

/// The rotation of whole heads.
inline std::vector<double> rope(const std::vector<double>& x, std::size_t length, std::size_t heads,
                                std::size_t width, double theta, double direction = 1.0) {
  return partial_rope(x, length, heads, width, width, theta, direction);
}

}  // namespace triax::reference
