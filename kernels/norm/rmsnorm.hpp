// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root-mean-square normalisation over the last dimension (Zhang & Sennrich 2019), as in Llama.
// Rows may be strided. The norm multiplies by weight + weight_offset: Gemma stores the weight
// minus 1.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// y = x / sqrt(mean(x^2) + epsilon) * (weight + weight_offset). x, y: (N, E); weight: (E). y may
/// be x.
void rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     float epsilon, float weight_offset = 0.0F);

/// sum = x + a + bias and y = RMS norm of sum, row by row. Bit for bit the results of
/// residual_forward and rmsnorm_forward, without reading the sum from memory again. x, a, sum, y:
/// (N, E); bias: (E) or empty. sum may be x or a; y must be none of them.
void residual_rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                              const Tensor& x, const Tensor& a, const Tensor& bias,
                              const Tensor& weight, float epsilon, float weight_offset = 0.0F);

/// dx = residual + gradient through the norm. residual: (N, E), may be dx or empty (zero). dx may
/// be dy. dweight: (E) of any type, or empty (a frozen weight), summed over rows in a fixed order;
/// added to if `accumulate`, else overwritten.
void rmsnorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& residual, const Tensor& x,
                      const Tensor& weight, float epsilon, bool accumulate, Arena& scratch,
                      float weight_offset = 0.0F);
/// Upper bound of the bytes that rmsnorm_backward takes from `scratch` in `space`.
std::size_t rmsnorm_scratch_bytes(std::int64_t rows, std::int64_t columns,
                                  MemorySpace space = MemorySpace::host);

}  // namespace triax
