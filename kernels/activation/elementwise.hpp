// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations between the larger ones: residuals, biases and their gradients, conversions.
#include "kernels/base/device/arena.hpp"

namespace triax {

/// y = x + a + bias for each row. x, a, y: (N, E), rows may be strided; bias: (E) or empty. y may
/// be x or a.
void residual_forward(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& a,
                      const Tensor& bias);

/// y += bias for each row. y: (N, E), rows may be strided; bias: (E).
void add_bias(const Stream& stream, const Tensor& y, const Tensor& bias);

/// dst += src, elementwise. Contiguous; dst is float32 or has the type of src.
void accumulate(const Stream& stream, const Tensor& dst, const Tensor& src);

/// dst = src, elementwise, between any two of float32, bfloat16 and half precision. Contiguous.
void convert(const Stream& stream, const Tensor& dst, const Tensor& src);

/// y = factor x. (N, E), rows may be strided. y may be x.
void scale(const Stream& stream, const Tensor& y, const Tensor& x, float factor);

/// dst = src for each row. (N, E) of one type; rows may be strided.
void copy_rows(const Stream& stream, const Tensor& dst, const Tensor& src);

/// dbias = column sums of dy (N, E), in a fixed order; added to dbias if `accumulate`. dy may be a
/// column slice; dbias: (E) of any type.
void bias_backward(const Stream& stream, const Tensor& dbias, const Tensor& dy, bool accumulate,
                   Arena& scratch);
/// Upper bound of the bytes that bias_backward takes from `scratch`.
std::size_t bias_backward_scratch_bytes(std::int64_t rows, std::int64_t columns);

}  // namespace triax
