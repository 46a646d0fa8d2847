#pragma once
// Dropout whose mask is a function of (seed, global element index): the same on every process grid.
//
// Element i has 16 bits of the generator's stream (dropout_mask.hpp), not a word of 32: the
// generator is what dropout costs where memory does not, and so it makes half as much. A
// probability is rounded to 1/65536 for it, which no model notices (FlashAttention has 8 bits); the
// factor of what is kept is that of the rounded probability, so that means are exact.
#include <cstdint>

#include "kernels/base/device/device.hpp"

namespace triax {

struct Dropout {
  float probability = 0.0F;  // of an element becoming zero; 0: the operation is the identity
  std::uint64_t key = 0;  // of the counter-based generator: seed, step, micro-batch and place mixed
};

/// y = x / (1 - p) where the mask keeps an element, else 0 whatever x is; element i with global
/// index first_index + i (not negative). y may be x. Its own backward. x, y: contiguous, of one
/// type.
void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index);

}  // namespace triax
