// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operations of linear maps whose outputs have magnitudes of their own (DoRA, Liu et al. 2024): the
// rows of a weight are divided by their norms and multiplied by the magnitudes. On the host.
#include "kernels/base/device/device.hpp"

namespace triax {

/// sums[i] += the squares of row i of w, added in double. w: (N, K) float32; sums: (N) float64.
void add_row_squares(const Stream& stream, const Tensor& sums, const Tensor& w);
/// sums[i] += the squares of column i of w. w: (K, N) float32; sums: (N) float64.
void add_column_squares(const Stream& stream, const Tensor& sums, const Tensor& w);

/// norms = square roots of `sums` (float64), rounded to `type`. norms: float32.
void norms_of_squares(const Stream& stream, const Tensor& norms, const Tensor& sums, DType type);

/// factors = magnitudes / norms - less; 1 - less for a weight without a norm. factors and norms:
/// (E) float32; magnitudes: (E).
void magnitude_factors(const Stream& stream, const Tensor& factors, const Tensor& magnitudes,
                       const Tensor& norms, float less = 0.0F);

/// y = factor x + (1 - factor) bias, with a factor for each column. y, x: (N, E) of one type, rows
/// may be strided; y may be x. factors: (E) float32; bias: (E) of that type, or empty.
void scale_columns(const Stream& stream, const Tensor& y, const Tensor& x, const Tensor& factors,
                   const Tensor& bias = {});

/// out = column sums of dy (z - bias) / norms, added in double, plus out if `accumulate`. dy, z:
/// (N, E) of one type, rows may be strided; norms: (E) float32; bias: (E) of that type, or empty;
/// out: (E) of any type. 0 for a weight without a norm.
void magnitude_backward(const Stream& stream, const Tensor& out, const Tensor& dy, const Tensor& z,
                        const Tensor& bias, const Tensor& norms, bool accumulate);

}  // namespace triax
