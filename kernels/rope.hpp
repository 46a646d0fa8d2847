#pragma once
// Rotary position embedding (Su et al. 2021) in Hugging Face's half-split order: element d pairs
// with element d + D/2, angle position * theta^(-2 d / D).
#include "kernels/base/device.hpp"

namespace triax {

/// cosine and sine of every angle. table: (2, T, D/2) float32, cosines first, computed in double.
void rope_table(const Stream& stream, const Tensor& table, double theta);

/// Rotates each head in place by its position t. x: (B, T, H, D), strided over (B, T), heads
/// contiguous.
void rope_forward(const Stream& stream, const Tensor& x, const Tensor& table);

/// The inverse rotation, in place: the gradient of rope_forward.
void rope_backward(const Stream& stream, const Tensor& dx, const Tensor& table);

}  // namespace triax
