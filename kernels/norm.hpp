#pragma once
// Sums of squares for the global gradient norm.
#include "kernels/base/device.hpp"

namespace triax {

/// The sum of squares of a contiguous float32 tensor, accumulated in double in a fixed order. Waits for the stream.
double sum_of_squares(const Stream& stream, const Tensor& x);

}  // namespace triax
