// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stochastic rounding from its definition: the oracle of kernels/optimizer/stochastic_rounding.hpp.
#include <cmath>
#include <cstdint>

#include "kernels/base/dtype.hpp"

namespace triax::reference {

/// `value` rounded to a neighbour in `type`; it must be finite and within the type's range. Away
/// from zero if the fraction of a step, in units of 2^-b, plus the low b bits of `word` reach 2^b,
/// where b is the number of float32 bits that the type drops.
inline double rounded_stochastically(DType type, double value, std::uint32_t word) {
  const bool bf16 = type == DType::bf16;
  const int digits = bf16 ? 8 : 11, least = bf16 ? -126 : -14, bits = bf16 ? 16 : 13;
  const double magnitude = std::fabs(value);
  if (magnitude == 0.0) return value;
  const int exponent = std::max(std::ilogb(magnitude), least);
  const double step = std::ldexp(1.0, exponent - (digits - 1));
  const double below = std::floor(magnitude / step);
  const double fraction = std::ldexp(magnitude / step - below, bits);
  const double part = static_cast<double>(word % (1U << bits));
  return std::copysign((below + (fraction + part >= std::ldexp(1.0, bits) ? 1.0 : 0.0)) * step,
                       value);
}

}  // namespace triax::reference
