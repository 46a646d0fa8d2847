// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choice among the algorithms of a product. cuBLASLt's heuristic names several, in the order of an
// estimate; on an H100 the fastest is up to 14% faster than the first
// (benchmarks/results/gpu/2026-11-27-h100.md). A choice by time alone is not the same twice, and
// the sums of another algorithm may have other bits. So time decides only among algorithms that
// gave the bits of the first: whichever is chosen, and by whichever rank, the result is the same.
#include <span>

#include "kernels/cuda/matmul/matrix_bits.hpp"

namespace triax::cuda {

/// Trial of an algorithm: what it wrote, and how long it took.
struct AlgorithmTrial {
  std::size_t algorithm = 0;  // its number in the heuristic's order
  MatrixBits bits;
  float milliseconds = 0.0F;
};

/// Share of the first's time that another algorithm must save. Smaller differences do not last in a
/// step, where the clocks are other ones.
inline constexpr float least_gain = 0.03F;

/// The algorithm of the fastest trial of those with the bits of the first; the first's unless
/// another saves least_gain.
std::size_t fastest(std::span<const AlgorithmTrial> trials);

/// Whether equal bits say that algorithms add in the same order: most of the `elements` elements
/// are not zero. Products of zeros are the same in any order.
bool bits_tell(const MatrixBits& bits, std::int64_t elements);

}  // namespace triax::cuda
