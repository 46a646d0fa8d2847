// SPDX-License-Identifier: Apache-2.0
#pragma once
// Newton-Schulz iteration towards the nearest (semi-)orthogonal matrix, as in torch.optim.Muon, in
// float32 instead of PyTorch's bfloat16.
#include "kernels/base/device/arena.hpp"

namespace triax {

struct NewtonSchulz {
  double a = 3.4445, b = -4.7750, c = 2.0315;  // PyTorch's ns_coefficients
  int steps = 5;
  double epsilon = 1e-7;  // smallest norm that a matrix is divided by
};

/// x = x / max(|x|, epsilon), Frobenius' norm; then x = a x + (b g + c g g) x, g = x x^T, `steps`
/// times; at last x = factor x. x: (A, B) float32, contiguous. If A > B, x^T takes the place of x.
/// Needs orthogonalize_bytes(A, B) of `scratch`, in the stream's memory.
void orthogonalize(const Stream& stream, const Tensor& x, const NewtonSchulz& options,
                   double factor, Arena& scratch);
std::size_t orthogonalize_bytes(std::int64_t rows, std::int64_t columns);

}  // namespace triax
