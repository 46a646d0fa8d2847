// SPDX-License-Identifier: Apache-2.0
#pragma once
// A state tensor in 8 bits, as cells (cell.hpp), from and to float32.
#include "kernels/base/device/device.hpp"
#include "kernels/optimizer/quantized/cell.hpp"
#include "kernels/optimizer/quantized/dynamic_map.hpp"

namespace triax {

/// to = elements [first, first + n) of `packed`. to: (n) float32. packed: (bytes) u8, from the
/// beginning of a cell. On a device, `to` may be pinned host memory. Runs on the calling thread.
void unpack_state(const Stream& stream, const Tensor& to, const Tensor& packed, std::int64_t first,
                  CodeMap map);

/// packed = from, on the host. from: (n) float32; packed: (packed_bytes(n)) u8. Numbers that
/// unpack_state() made of whole cells are restored to the bit; others are rounded to the nearest
/// codes.
void pack_state(const Tensor& packed, const Tensor& from, CodeMap map);

}  // namespace triax
