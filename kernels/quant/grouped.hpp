// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scales and zero points of GPTQ and AWQ: one per output and group of inputs.
#include "kernels/base/device/device.hpp"

namespace triax {

/// values = (values - zero) x scale of its group and output, exact before one rounding. values:
/// (I, O) float32, fields of bit_fields.hpp; zeros, scales: (G, O) float32; groups: (I) i32, the
/// group of each input. On the host.
void scale_groups(const Stream& stream, const Tensor& values, const Tensor& zeros,
                  const Tensor& scales, const Tensor& groups);

}  // namespace triax
