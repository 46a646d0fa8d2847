#pragma once
// The device's side of kernels/matmul/fp8.hpp.
#include "kernels/matmul/fp8.hpp"

namespace triax::cuda {

decltype(triax::fp8_quantise) fp8_quantise;

/// Memory for an operand: as many bytes as the operand has, and its scales (2, float32).
struct Quantised {
  Tensor memory, scales;
};

/// c = a b of codes, with options.bias and options.accumulate alone. False, with nothing but
/// `a_memory` and `b_memory` written, where the device has no such product.
bool fp8_multiply(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                  const Float8Operands& formats, const MatmulOptions& options,
                  const Quantised& a_memory, const Quantised& b_memory);

}  // namespace triax::cuda
