#pragma once
// Layer normalisation over the last dimension (Ba et al. 2016). Rows may be strided.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// y = (x - mean) * rstd * weight + bias, rows of E. x, y: (N, E); weight, bias: (E). y may be x.
/// rstd = 1 / sqrt(variance + epsilon), the variance being the biased one.
void layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                       const Tensor& bias, float epsilon);

/// sum = x + a + residual_bias, each row, and y its norm: to the bit as residual_forward and
/// layernorm_forward, but the sum is not read from memory again. All of x, a, sum and y: (N, E);
/// residual_bias: (E) or empty. sum may be x or a; y is none of them.
void residual_layernorm_forward(const Stream& stream, const Tensor& y, const Tensor& sum,
                                const Tensor& x, const Tensor& a, const Tensor& residual_bias,
                                const Tensor& weight, const Tensor& bias, float epsilon);

/// dx = residual + gradient through the norm; residual: (N, E), may be dx itself or empty (zero).
/// dx may be dy. dweight, dbias: (E) of any type, summed over rows; added to when `accumulate`,
/// else overwritten. Mean and rstd are computed again from x. The sum over rows has a fixed order.
void layernorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                        const Tensor& dbias, const Tensor& dy, const Tensor& residual,
                        const Tensor& x, const Tensor& weight, float epsilon, bool accumulate,
                        Arena& scratch);
/// The most that layernorm_backward takes from `scratch`, which lies in `space`.
std::size_t layernorm_scratch_bytes(std::int64_t rows, std::int64_t columns,
                                    MemorySpace space = MemorySpace::host);

}  // namespace triax
