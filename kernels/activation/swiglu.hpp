// SPDX-License-Identifier: Apache-2.0
#pragma once
// SwiGLU (Shazeer 2020): silu(gate) * up, as in Llama. Results of 16 bits use coarse sigmoids
// (kernels/simd/coarse_math.hpp).
#include "kernels/base/device/device.hpp"

namespace triax {

/// y = silu(x[:, :I]) * x[:, I:]. x: (N, 2 I), gate first; y: (N, I).
void swiglu_forward(const Stream& stream, const Tensor& y, const Tensor& x);

/// dx (N, 2 I) from dy (N, I), and y recomputed in the same pass. dx may not be x; y may be dy.
void swiglu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                     const Tensor& x);

}  // namespace triax
