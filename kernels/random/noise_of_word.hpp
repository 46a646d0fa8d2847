// SPDX-License-Identifier: Apache-2.0
#pragma once
// Uniform numbers of random words, shared by the host loops and the device kernels.
#include <cstdint>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// A number in (-1, 1): an odd multiple of 2^-24.
TRIAX_HOST_DEVICE inline float symmetric_uniform(std::uint32_t word) {
  const auto steps = static_cast<std::int32_t>(word >> 8U) * 2 + 1;  // 1, 3 ... 2^25 - 1
  return static_cast<float>(steps - (1 << 24)) * 0x1p-24F;
}

}  // namespace triax
