// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that kernels and the BLAS use beside their operands, one workspace per stream of a device.
#include <cstdint>

#include "kernels/base/device/device_arena.hpp"

namespace triax {

/// Gives a stream that has no workspace yet its memory: the part "streams" of `source`, which
/// outlives it. Without this call the memory is taken when a kernel first needs it. Error where
/// the stream has a workspace already.
void set_workspace(const Stream& stream, const MemorySource& source);

/// Bytes of that part; 0 on the host.
std::int64_t workspace_bytes();

}  // namespace triax
