// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stores past the caches, for results too large to be in a cache when they are read next. They save
// reading each cache line before it is written.
#include <initializer_list>

#include "kernels/base/tensor.hpp"

namespace triax {

/// True if a host kernel should write `out` past the caches (`lanes.write`): it has 16 MiB or more,
/// each of its rows begins at a cache line, and none of `inputs` begins where it does. Inputs may
/// be empty tensors. The end of a parallel loop makes the stores visible (parallel.cpp).
bool past_caches(const Tensor& out, std::initializer_list<const Tensor*> inputs);

}  // namespace triax
