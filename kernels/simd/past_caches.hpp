#pragma once
// Large results, which are in no cache when they are read next: written past the caches a line
// needs not be read first.
#include <initializer_list>

#include "kernels/base/tensor.hpp"

namespace triax {

/// Whether a kernel had better write `out`, on the host, past the caches (`lanes.write`): it is
/// large, each of its rows begins at a cache line, and none of `inputs` begins where it does. They
/// may be empty.
bool past_caches(const Tensor& out, std::initializer_list<const Tensor*> inputs);

}  // namespace triax
