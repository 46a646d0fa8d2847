// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversion of 16-bit matrices to float32 and back, in memory that a thread keeps.
#include "kernels/base/device/device.hpp"

namespace triax::gemm {

/// to = from; `from` has the narrower type, both have unit column stride.
void widen(const Tensor& to, const Tensor& from);
/// to = from, rounded; `to` has the narrower type, both have unit column stride.
void narrow(const Tensor& to, const Tensor& from);

/// A float32 matrix in `memory`, which grows to the largest size requested.
Tensor matrix_in(Buffer& memory, std::int64_t rows, std::int64_t columns);

}  // namespace triax::gemm
