// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors as bitsandbytes stores them.
#include <memory>
#include <set>
#include <string>

#include "src/huggingface/tensor_encoding.hpp"

namespace triax {

/// The quantized tensors, and their format.
struct BitsandbytesFormat {
  int bits = 4;
  bool fp4 = false, nested = false;  // of 4 bits
  DType type = DType::f32;           // of the other tensors; bitsandbytes decodes to it
  std::set<std::string> maps = {};   // weights of linear maps: quantized, all others are plain
  bool transposed = false;           // the model has them as (inputs, outputs)
};

std::unique_ptr<TensorEncoding> bitsandbytes_encoding(BitsandbytesFormat format);

}  // namespace triax
