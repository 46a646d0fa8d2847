// SPDX-License-Identifier: Apache-2.0
#pragma once
// The weight of a linear map on this rank, in the bits of its files: boxes of named tensors.
#include <string>
#include <vector>

#include "kernels/quant/packed_box.hpp"

namespace triax {

struct PackedPart {
  std::string name;  // of the tensor, (outputs, inputs) or transposed in the model
  PackedBox box;
  std::int64_t begin = 0;   // first byte in the weight
  std::int64_t output = 0;  // its first row among the map's outputs
  std::int64_t scale = 0;   // its first scale among the weight's nested ones
};

struct PackedWeight {
  std::vector<PackedPart> parts;
  std::int64_t bytes() const {
    return parts.empty() ? 0 : parts.back().begin + parts.back().box.bytes();
  }
  std::int64_t nested_scales() const {
    return parts.empty() || !parts.back().box.nested()
               ? 0
               : parts.back().scale + parts.back().box.scales();
  }
};

/// The bytes of a parameter that holds a packed weight, whatever type it has in its bucket.
inline Tensor bytes_of(const Tensor& parameter) {
  return {parameter.data(), DType::u8, {parameter.bytes()}, parameter.space()};
}

}  // namespace triax
