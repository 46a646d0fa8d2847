// SPDX-License-Identifier: Apache-2.0
#pragma once
// GELU (Hendrycks & Gimpel 2016). Errors of the tanh approximation in results of 16 bits:
// coarse_gelu.hpp. The exact GELU has a relative error below 1e-6 in float32, for negative x too.
#include <cstdint>

#include "kernels/base/device/device.hpp"

namespace triax {

/// tanh: the approximation of GPT-2, "gelu_new". erf: x Phi(x) itself, as in GPT-NeoX.
enum class Gelu : std::uint8_t { tanh, erf };

/// y = gelu(x), elementwise; same shape and type, contiguous. y may be x.
void gelu_forward(const Stream& stream, const Tensor& y, const Tensor& x, Gelu kind = Gelu::tanh);

/// dx = dy * gelu'(x) and, recomputed in the same pass, y = gelu(x). dx may be dy; y may not be x.
/// An empty y is not computed.
void gelu_backward(const Stream& stream, const Tensor& dx, const Tensor& y, const Tensor& dy,
                   const Tensor& x, Gelu kind = Gelu::tanh);

}  // namespace triax
