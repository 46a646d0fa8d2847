// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of GPTQ and AWQ: fields of 2 to 8 bits in 32-bit words, with a scale and a zero point per
// output and group of inputs.
#include "io/safetensors/safetensors.hpp"
#include "src/state/weights/quantized/quantization.hpp"
#include "src/state/weights/quantized/quantized_matrix.hpp"

namespace triax {

/// Matrices of the files of `reader`, which outlives them. UsageError where files and
/// `quantization` contradict each other, or a tensor itself. Values are exact in float32.
QuantizedTensors find_gptq(const SafetensorsReader& reader, const Quantization& quantization);
QuantizedTensors find_awq(const SafetensorsReader& reader, const Quantization& quantization);

}  // namespace triax
