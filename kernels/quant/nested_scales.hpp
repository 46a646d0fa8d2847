// SPDX-License-Identifier: Apache-2.0
#pragma once
// Double quantization (Dettmers et al. 2023): the scales of a 4-bit tensor in 8 bits. Each scale
// less their mean is a code of the signed dynamic map, times a float32 scale per 256 of them.
#include "kernels/base/device/device.hpp"

namespace triax {

inline constexpr std::int64_t nested_group = 256;

/// codes, outer = `scales` less the offset, which is returned: their mean, rounded to float32.
/// scales: (n) finite float32; codes: (n) u8; outer: (groups_of(n, nested_group)) float32. On the
/// host.
float quantize_scales(const Stream& stream, const Tensor& codes, const Tensor& outer,
                      const Tensor& scales);

/// out = scales [first, first + n) of the tensor, from their `codes`, (n), and the outer scales
/// from scale 0 on. Level times outer scale, plus `offset`, each rounded. On the host.
void dequantize_scales(const Stream& stream, const Tensor& out, const Tensor& codes,
                       const Tensor& outer, std::int64_t first, float offset);

}  // namespace triax
