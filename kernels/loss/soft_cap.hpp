// SPDX-License-Identifier: Apache-2.0
#pragma once
// Soft cap of logits, as in Gemma 2 (Gemma Team 2024). The loss has its own (cross_entropy.hpp).
#include "kernels/base/device/device.hpp"

namespace triax {

/// logits = cap tanh(logits / cap), in place. logits: (N, V), rows may be strided; cap > 0.
void soft_cap(const Stream& stream, const Tensor& logits, float cap);

}  // namespace triax
