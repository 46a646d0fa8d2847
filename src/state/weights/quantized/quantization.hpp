// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a Hugging Face directory says that its weights are quantized.
#include <cstdint>
#include <string>

namespace triax {

enum class QuantMethod : std::uint8_t { none, bitsandbytes, gptq, awq };

struct Quantization {
  QuantMethod method = QuantMethod::none;
  std::string source = {};  // file and key, for messages
  int bits = 0;
  std::string four_bit = {};   // bitsandbytes with 4 bits: "nf4" or "fp4"
  std::int64_t group = 0;      // GPTQ, AWQ: inputs with one scale; -1: all
  bool symmetric = false;      // GPTQ: all zero points are 2^(bits - 1)
  bool reordered = false;      // GPTQ, desc_act: groups are not consecutive inputs
  bool zero_less_one = false;  // GPTQ before version 2: stores each zero point less one
};

/// From `quantization_config` of config.json in `directory`, or else from GPTQ's
/// quantize_config.json; none where neither is there. UsageError for a method, or a variant of one,
/// that triax does not decode.
Quantization read_quantization(const std::string& directory);

}  // namespace triax
