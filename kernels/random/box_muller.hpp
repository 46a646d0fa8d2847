// SPDX-License-Identifier: Apache-2.0
#pragma once
// Normal numbers from random words, shared by the host loops and the device kernels.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// Two normal numbers from two words (Box and Muller 1958).
struct NormalPair {
  double cosine;
  double sine;
};

TRIAX_HOST_DEVICE inline NormalPair box_muller(std::uint32_t a, std::uint32_t b) {
  const double u = (static_cast<double>(a) + 0.5) * 0x1p-32;  // in (0, 1): the logarithm is finite
  const double angle = static_cast<double>(b) * (0x1p-32 * 2.0 * std::numbers::pi);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace triax
