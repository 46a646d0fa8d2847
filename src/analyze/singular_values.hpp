// SPDX-License-Identifier: Apache-2.0
#pragma once
// The largest singular values of a matrix (Halko, Martinsson and Tropp 2011, algorithm 4.4).
#include <vector>

#include "kernels/base/tensor.hpp"

namespace triax {

/// At most `count` singular values of `matrix` (M, N), float32 on the host, the largest first. All
/// of them are exact to rounding where a side is at most count + 8; otherwise they are lower bounds
/// that three rounds of subspace iteration bring near. Requires a KernelRuntime.
std::vector<double> leading_singular_values(const Tensor& matrix, int count);

}  // namespace triax
