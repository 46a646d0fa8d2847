// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors that bitsandbytes quantized: NF4 and FP4, with or without double quantization, and the
// weights of LLM.int8.
#include "io/safetensors/safetensors.hpp"
#include "src/state/weights/quantized/quantization.hpp"
#include "src/state/weights/quantized/quantized_matrix.hpp"

namespace triax {

/// Suffixes, after ".weight", of the tensors that belong to one with 4 bits.
inline constexpr const char* absmax_suffix = ".absmax";
inline constexpr const char* quant_map_suffix = ".quant_map";
inline constexpr const char* nested_absmax_suffix = ".nested_absmax";
inline constexpr const char* nested_map_suffix = ".nested_quant_map";
inline constexpr const char* quant_state_suffix = ".quant_state.bitsandbytes__";  // and the type
/// In place of ".weight", for those with 8 bits.
inline constexpr const char* row_absmax_suffix = ".SCB";
inline constexpr const char* weight_format_suffix = ".weight_format";

/// Matrices of the files of `reader`, which outlives them. UsageError where files and
/// `quantization` contradict each other, or a tensor itself.
QuantizedTensors find_bitsandbytes(const SafetensorsReader& reader,
                                   const Quantization& quantization);

}  // namespace triax
