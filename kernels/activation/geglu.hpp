// SPDX-License-Identifier: Apache-2.0
#pragma once
// GEGLU (Shazeer 2020) with the tanh approximation: gelu(gate) * up, as in Gemma. Errors in results
// of 16 bits: coarse_gelu.hpp.
#include "kernels/base/device/device.hpp"

namespace triax {

/// y = gelu(x[:, :I]) * x[:, I:]. x: (N, 2 I), gate first; y: (N, I).
void geglu_forward(const Stream& stream, const Tensor& y, const Tensor& x);

/// dx (N, 2 I) from dy (N, I), and y recomputed in the same pass. dx may not be x; y may be dy.
void geglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                    const Tensor& x);

}  // namespace triax
