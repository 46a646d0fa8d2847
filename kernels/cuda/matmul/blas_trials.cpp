// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul/blas_trials.hpp"

namespace triax::cuda {

std::size_t fastest(std::span<const AlgorithmTrial> trials) {
  const AlgorithmTrial& first = trials.front();
  const AlgorithmTrial* best = &first;
  for (const AlgorithmTrial& trial : trials)
    if (trial.bits == first.bits && trial.milliseconds < best->milliseconds) best = &trial;
  const bool gains = best->milliseconds <= (1.0F - least_gain) * first.milliseconds;
  return gains ? best->algorithm : first.algorithm;
}

bool bits_tell(const MatrixBits& bits, std::int64_t elements) {
  return bits.nonzero > static_cast<std::uint64_t>(elements) / 2;
}

}  // namespace triax::cuda
