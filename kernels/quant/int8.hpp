// SPDX-License-Identifier: Apache-2.0
#pragma once
// Weights in 8 bits with a float32 scale per row: the weights of LLM.int8 (Dettmers et al. 2022),
// as bitsandbytes' int8_vectorwise_quant and int8_vectorwise_dequant.
#include "kernels/base/device/device.hpp"

namespace triax {

/// codes, scales = rows of `values`, which are rounded to half precision first, as bitsandbytes
/// does. values: (R, C) float32, of magnitude below 65520. codes: (R, C) u8 with the bits of signed
/// numbers from -127 to 127. scales: (R) float32, the largest magnitude of each row. On the host.
void quantize_int8(const Stream& stream, const Tensor& codes, const Tensor& scales,
                   const Tensor& values);

/// out = codes x scale / 127, as bitsandbytes rounds it. out: (R, C) float32; codes: (R, C) u8;
/// scales: (R). On the host.
void dequantize_int8(const Stream& stream, const Tensor& out, const Tensor& codes,
                     const Tensor& scales);

}  // namespace triax
