// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/base/device/device.hpp"

namespace triax {

/// out = values in out's type. Error that names `tensor` where float16, which ends at 65504, would
/// make infinities of finite values. Both contiguous and in host memory.
void convert_weights(const std::string& tensor, const Tensor& out, const Tensor& values);

}  // namespace triax
