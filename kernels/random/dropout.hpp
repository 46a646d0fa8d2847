// SPDX-License-Identifier: Apache-2.0
#pragma once
// Dropout whose mask is a function of (key, global element index): the same on every process grid.
//
// An element uses 16 bits of the generator's stream (dropout_mask.hpp), not a 32-bit word: the
// generator dominates dropout's cost where memory does not, and this halves its work. The
// probability is rounded to 1/65536, which no model notices (FlashAttention uses 8 bits). The
// factor of kept elements follows from the rounded probability, so that means are exact.
#include <cstdint>

#include "kernels/base/device/device.hpp"

namespace triax {

struct Dropout {
  float probability = 0.0F;  // probability that an element becomes zero; 0: the identity
  std::uint64_t key = 0;     // of the generator: seed, step, layer and place mixed
};

/// y = x / (1 - p) where the mask keeps an element, else 0 whatever x is. Element i has the global
/// index first_index + i; first_index >= 0. y may be x. The backward pass is this same function. x,
/// y: contiguous, of one type.
void dropout(const Stream& stream, const Tensor& y, const Tensor& x, const Dropout& dropout,
             std::int64_t first_index);

}  // namespace triax
