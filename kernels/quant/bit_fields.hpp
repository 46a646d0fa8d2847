// SPDX-License-Identifier: Apache-2.0
#pragma once
// Unsigned fields of 2, 3, 4 or 8 bits, packed in 32-bit words from the lowest bit on, as one
// stream of bits: fields of 3 bits can lie in two words. GPTQ packs weights along the inputs and
// zero points along the outputs, AWQ both along the outputs.
#include "kernels/base/device/device.hpp"

namespace triax {

/// Words of `fields` fields.
constexpr std::int64_t field_words(std::int64_t fields, int bits) {
  return (fields * bits + 31) / 32;
}

/// Order of the fields in a word: natural, or AWQ's (0, 2, 4, 6, 1, 3, 5, 7; 4 bits only).
enum class FieldOrder : std::uint8_t { natural, awq };

/// out = fields that are packed down the rows of `words`. out: (R, C) float32; words:
/// (field_words(R), C) i32, whose first row begins with a field. On the host.
void unpack_fields_down(const Stream& stream, const Tensor& out, const Tensor& words, int bits);

/// out = fields [first, first + C) of each row of `words`, each plus `added`, modulo 2^bits. out:
/// (R, C) float32; words: (R, W) i32. On the host.
void unpack_fields_across(const Stream& stream, const Tensor& out, const Tensor& words, int bits,
                          std::int64_t first, FieldOrder order, int added);

}  // namespace triax
