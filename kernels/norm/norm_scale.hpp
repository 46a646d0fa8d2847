#pragma once
// The factor that a norm scales a row by, shared by the host loops and the device kernels.
#include <cmath>

#include "kernels/base/device/host_device.hpp"

namespace triax {

/// 1 / sqrt(mean_square + epsilon), by which a norm scales a row. NaN where the square is infinite:
/// of a row so large that it overflows, zeros would come, and nobody would notice.
TRIAX_HOST_DEVICE inline float norm_scale(float mean_square, float epsilon) {
  return 1.0F / std::sqrt(mean_square + epsilon + (mean_square - mean_square));
}

}  // namespace triax
