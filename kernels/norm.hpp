#pragma once
// Sums over a whole tensor: of the losses, and of squares for the global gradient norm.
#include "kernels/base/device.hpp"

namespace triax {

/// total += the sum of x, in double and in an order that depends on the size of x alone. x:
/// contiguous; total: (1) float64 in the stream's memory, so that nothing waits for the stream.
void add_sum(const Stream& stream, const Tensor& total, const Tensor& x);

/// total += the sum of the squares of x, likewise.
void add_sum_of_squares(const Stream& stream, const Tensor& total, const Tensor& x);

}  // namespace triax
