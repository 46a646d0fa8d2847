#pragma once
// Stochastic rounding from its definition: the oracle of kernels/optimizer/stochastic_rounding.hpp.
#include <cmath>
#include <cstdint>

#include "kernels/base/dtype.hpp"

namespace triax::reference {

/// `value`, finite and not beyond the largest number of `type`, to a neighbour of it in that type:
/// to the one away from zero where the fraction of a step, in units of 2^-b, and the low b bits of
/// `word` make 2^b or more. b: the bits of a float32 that the type has no room for.
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
