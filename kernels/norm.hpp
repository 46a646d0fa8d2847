#pragma once
// Sums over a whole tensor: of the losses, and of squares for the global gradient norm.
#include "kernels/base/device.hpp"

namespace triax {

/// The sum of a contiguous float32 tensor in double, in an order that depends on its size alone.
/// Waits for the stream.
double sum(const Stream& stream, const Tensor& values);

/// The sum of squares of a contiguous float32 tensor, likewise.
double sum_of_squares(const Stream& stream, const Tensor& x);

}  // namespace triax
