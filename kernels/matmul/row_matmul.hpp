// SPDX-License-Identifier: Apache-2.0
#pragma once
// Matrix products for inference: a row of the result has the same bits in whatever company its row
// is computed. matmul.hpp, which training uses, chooses another order of sums for other numbers of
// rows.
#include "kernels/base/device/device.hpp"

namespace triax {

/// c = a b + bias. a: (M, K), c: (M, N), both float32 with unit column stride; b: (K, N), float32,
/// bfloat16 or half precision, one of its strides 1 (weights as (N, K) are a transposed view);
/// bias: (N) float32, empty: none. Host only.
/// Each row of c depends on its row of a, on b and on bias alone, bit for bit: not on M, on the
/// other rows, on the number of threads or on the ISA level. Few rows read b once, at the speed of
/// memory; many rows are computed in register tiles. Nothing is allocated.
void row_matmul(const Stream& stream, const Tensor& c, const Tensor& a, const Tensor& b,
                const Tensor& bias = {});

}  // namespace triax
