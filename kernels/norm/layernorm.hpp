// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layer normalisation over the last dimension (Ba et al. 2016). Rows may be strided. Mean and
// variance come from one pass over a row.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// y = (x - mean) * rstd * weight + bias for each row of length E. x, y: (N, E); weight, bias: (E).
/// y may be x. rstd = 1 / sqrt(variance + epsilon) with the biased variance.
void layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, float epsilon);

/// sum = x + a + residual_bias and y = layer norm of sum, row by row. Bit for bit the results of
/// residual_forward and layernorm_forward, without reading the sum from memory again. x, a, sum, y:
/// (N, E); residual_bias: (E) or empty. sum may be x or a; y must be none of them.
void residual_layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                                const Tensor& x, const Tensor& a, const Tensor& residual_bias,
                                const Tensor& weight, const Tensor& bias, float epsilon);

/// dx = residual + gradient through the norm. residual: (N, E), may be dx or empty (zero). dx may
/// be dy. dweight, dbias: (E) of any type, or empty (a frozen parameter), summed over rows in a
/// fixed order; added to if `accumulate`, else overwritten. Mean and rstd are recomputed from x.
void layernorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                        const Tensor& dbias, const Tensor& dy, const Tensor& residual,
                        const Tensor& x, const Tensor& weight, float epsilon, bool accumulate,
                        Arena& scratch);
/// Upper bound of the bytes that layernorm_backward takes from `scratch` in `space`.
std::size_t layernorm_scratch_bytes(std::int64_t rows, std::int64_t columns,
                                    MemorySpace space = MemorySpace::host);

}  // namespace triax
