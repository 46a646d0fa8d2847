// SPDX-License-Identifier: Apache-2.0
#pragma once
// A box of a plain matrix, quantized while it is loaded: the bits that the whole matrix would have.
#include "kernels/quant/packed_box.hpp"
#include "src/state/weights/quantized/flat_matrix.hpp"

namespace triax {

/// Elements of a matrix that are quantized at a time: whole groups.
inline constexpr std::int64_t quantized_at_once = std::int64_t{1} << 20;

/// Fills the parts of `box`, all of which are in host memory. Reads the rows of the box; the whole
/// matrix where the scales are quantized too, since their mean is that of all. Error for a value
/// that is not finite, or beyond half precision with 8 bits.
void quantize_box(const PackedBox& box, const PackedParts& parts, FlatMatrix& matrix);

}  // namespace triax
