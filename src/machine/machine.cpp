// SPDX-License-Identifier: Apache-2.0
#include "src/machine/machine.hpp"

namespace triax {

double Machine::flops(DType type, bool fp8) const {
  if (fp8) return fp8_flops;
  switch (type) {
    case DType::bf16:
      return bf16_flops;
    case DType::f16:
      return f16_flops;
    default:
      return f32_flops;
  }
}

}  // namespace triax
