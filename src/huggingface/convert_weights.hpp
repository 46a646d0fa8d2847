// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/base/device/device.hpp"

namespace triax {

/// out = values, converted to out's type. Error, naming `tensor`, if finite values would become
/// infinite in float16 (maximum 65504). Both tensors are contiguous and in host memory.
void convert_weights(const std::string& tensor, const Tensor& out, const Tensor& values);

}  // namespace triax
