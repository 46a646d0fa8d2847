#pragma once
// 16-bit matrices widened to float32 and rounded back, in memory that a thread keeps.
#include "kernels/base/device/device.hpp"

namespace triax::gemm {

/// to = from, which is narrower; both have unit column stride.
void widen(const Tensor& to, const Tensor& from);
/// to = from, rounded; `to` is narrower, both have unit column stride.
void narrow(const Tensor& to, const Tensor& from);

/// A matrix of float32 in memory that grows to the largest asked for.
Tensor matrix_in(Buffer& memory, std::int64_t rows, std::int64_t columns);

}  // namespace triax::gemm
