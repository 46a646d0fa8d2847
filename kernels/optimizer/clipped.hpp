// SPDX-License-Identifier: Apache-2.0
#pragma once
// Clipping of a gradient's elements, shared by the host loops and the device kernels.
#include "kernels/base/device/host_device.hpp"

namespace triax {

/// An element of the gradient times the factor of clip_factor(), held to [-most, most].
struct Clip {
  float factor, most;

  TRIAX_HOST_DEVICE float operator()(float gradient) const {
    float g = factor * gradient;
    g = g > most ? most : g;
    return g < -most ? -most : g;
  }
};

}  // namespace triax
