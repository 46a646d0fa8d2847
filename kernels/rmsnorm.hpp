#pragma once
// Root-mean-square normalisation over the last dimension (Zhang & Sennrich 2019), as in Llama.
#include "kernels/base/arena.hpp"

namespace triax {

/// y = x / sqrt(mean(x^2) + epsilon) * weight. x, y: (N, E); weight: (E). y may not be x.
void rmsnorm_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& weight,
                     float epsilon);

/// dx = residual + gradient through the norm; residual: (N, E), may be dx itself or empty (zero).
/// dweight: (E), summed over rows; added to when `accumulate`, else overwritten.
void rmsnorm_backward(const Stream& stream, const Tensor& dx, const Tensor& dweight, const Tensor& dy,
                      const Tensor& residual, const Tensor& x, const Tensor& weight, float epsilon,
                      bool accumulate, Arena& scratch);

}  // namespace triax
