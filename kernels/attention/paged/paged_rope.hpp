// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotary positions (kernels/attention/rope.hpp) of packed rows, each at a position of its own.
#include "kernels/attention/rope.hpp"

namespace triax {

/// Rotates row r of x by the angles of position positions[r], as rope_forward does. x: (rows, H, D)
/// float32, heads contiguous; positions: (rows or more) int32 within `table`. Host only.
void paged_rope(const Stream& stream, const Tensor& x, const Tensor& table,
                const Tensor& positions);

}  // namespace triax
