// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device side of kernels/matmul/fp8.hpp. Both operands are stored along the depth (TN), with sizes
// that are multiples of 16.
#include "kernels/matmul/fp8.hpp"

namespace triax::cuda {

decltype(triax::fp8_quantise) fp8_quantise;

/// Memory for one quantised operand: one byte per element, and 1 / scale and scale as float32 (2).
struct Quantised {
  Tensor memory, scales;
};

/// c = a b with fp8 operands, with options.bias and options.accumulate alone. Returns false, having
/// written at most `a_memory` and `b_memory`, if the device has no such product.
bool fp8_multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                  const Float8Operands& formats, const MatmulOptions& options,
                  const Quantised& a_memory, const Quantised& b_memory);

}  // namespace triax::cuda
