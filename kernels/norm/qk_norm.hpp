// SPDX-License-Identifier: Apache-2.0
#pragma once
// Root-mean-square normalisation of queries or keys (QK-norm, Henry et al. 2020), each pass in two
// steps: sums over the elements, then the result from the sums. Between the steps tensor ranks add
// their sums where a norm spans the heads of all of them. x, y, dx, dy: (N, G, D), strided over N
// and G; weight: (D); sums, dots: (N, G) float32, contiguous.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// sums = sum of x^2 over D.
void qk_norm_sums(const Stream& stream, const Tensor& sums, const Tensor& x);

/// y = x / sqrt(sums / width + epsilon) * (weight + weight_offset). width: elements that a sum
/// counts, D or that of all tensor ranks. y may be x.
void qk_norm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     const Tensor& sums, std::int64_t width, float epsilon, float weight_offset);

/// dots = sum of dy (weight + weight_offset) x over D.
void qk_norm_gradient_sums(const Stream& stream, const Tensor& dots, const Tensor& dy,
                           const Tensor& x, const Tensor& weight, float weight_offset);

/// dx = gradient through the norm; may be dy. dweight: (D) of any type, or empty (a frozen weight),
/// summed over N and G in a fixed order; added to if `accumulate`, else overwritten.
void qk_norm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight,
                      const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& sums,
                      const Tensor& dots, std::int64_t width, float epsilon, float weight_offset,
                      bool accumulate, Arena& scratch);
/// Upper bound of the bytes that qk_norm_backward takes from `scratch` in `space`.
std::size_t qk_norm_scratch_bytes(std::int64_t rows, std::int64_t groups, std::int64_t head_size,
                                  MemorySpace space = MemorySpace::host);

}  // namespace triax
