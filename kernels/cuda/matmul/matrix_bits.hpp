// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparison of two results to the last bit, without a second copy of either.
#include <cstdint>

#include "kernels/base/device/device.hpp"
#include "kernels/base/tensor.hpp"

namespace triax::cuda {

/// Digest of a matrix's elements. Matrices whose bits differ have different sums, except by
/// a chance of 2^-64.
struct MatrixBits {
  std::uint64_t sum = 0;  // of a mixture of each element's bits with its place
  std::uint64_t nonzero = 0;

  MatrixBits& operator+=(const MatrixBits& other) {
    sum += other.sum;
    nonzero += other.nonzero;
    return *this;
  }
  bool operator==(const MatrixBits&) const = default;
};

/// The bits of a (N, E) matrix in device memory, with unit column stride. Waits for the stream, and
/// overwrites its scratch memory (Kept::scratch).
MatrixBits matrix_bits(const Stream& stream, const Tensor& matrix);

}  // namespace triax::cuda
