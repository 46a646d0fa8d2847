// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scale factor of a norm, shared by the host loops and the device kernels.
#include <cmath>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// 1 / sqrt(mean_square + epsilon). NaN if mean_square is infinite: a row that overflows would
/// otherwise become zeros, unnoticed.
TRIAX_HOST_DEVICE inline float norm_scale(float mean_square, float epsilon) {
  return 1.0F / std::sqrt(mean_square + epsilon + (mean_square - mean_square));
}

}  // namespace triax
