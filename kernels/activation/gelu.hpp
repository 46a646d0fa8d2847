// SPDX-License-Identifier: Apache-2.0
#pragma once
// GELU with the tanh approximation (Hendrycks & Gimpel 2016), GPT-2's "gelu_new". Errors in results
// of 16 bits: coarse_gelu.hpp.
#include "kernels/base/device/device.hpp"

namespace triax {

/// y = gelu(x), elementwise; same shape and type, contiguous. y may be x.
void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x);

/// dx = dy * gelu'(x) and, recomputed in the same pass, y = gelu(x). dx may be dy; y may not be x.
/// An empty y is not computed.
void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x);

}  // namespace triax
