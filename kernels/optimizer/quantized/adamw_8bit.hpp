// SPDX-License-Identifier: Apache-2.0
#pragma once
// AdamW whose moments are packed in 8 bits (Dettmers et al. 2022; bitsandbytes' AdamW8bit).
#include "kernels/optimizer/adamw.hpp"
#include "kernels/optimizer/quantized/packed_state.hpp"

namespace triax {

/// One update, in one pass over memory: adamw() with moments that are unpacked before it and packed
/// after it. The parameters move by the moments before they are packed. parameter, weights,
/// gradient, factor: as in adamw(), (n). m, v: (packed_bytes(n)) u8, m with codes of
/// CodeMap::signs, v of CodeMap::positive; the first parameter begins a cell.
void adamw_8bit(const Stream& stream, const Tensor& parameter, const Tensor& weights,
                const Tensor& gradient, const Tensor& factor, const Tensor& m, const Tensor& v,
                const AdamWOptions& options);

}  // namespace triax
