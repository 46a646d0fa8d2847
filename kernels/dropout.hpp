#pragma once
// Dropout whose mask is a function of (seed, global element index): the same on every process grid.
#include <cstdint>

#include "kernels/base/device.hpp"

namespace triax {

struct Dropout {
  float probability = 0.0F;  // of an element becoming zero; 0: the operation is the identity
  std::uint64_t key = 0;  // of the counter-based generator: seed, step, micro-batch and place mixed
};

/// y = x * mask / (1 - p), element i with global index first_index + i. y may be x. Its own
/// backward. x, y: contiguous, of one type.
void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index);

}  // namespace triax
