// SPDX-License-Identifier: Apache-2.0
#pragma once
// 8-bit floating point by its definition, in double precision: the oracle of kernels/matmul/fp8.hpp
// and kernels/base/float8.hpp.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/float8.hpp"

namespace triax::reference {

/// Value of a code.
inline double fp8_number(Float8 format, unsigned code) {
  const bool e4m3 = format == Float8::e4m3;
  const int fraction_bits = e4m3 ? 3 : 2;
  const int bias = e4m3 ? 7 : 15;
  const int whole = 1 << fraction_bits;
  const int exponent = static_cast<int>((code & 0x7fU) >> static_cast<unsigned>(fraction_bits));
  const int fraction = static_cast<int>(code) & (whole - 1);
  const double sign = (code & 0x80U) != 0 ? -1.0 : 1.0;
  if (e4m3 && (code & 0x7fU) == 0x7fU) return std::numeric_limits<double>::quiet_NaN();
  if (!e4m3 && exponent == 31)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(whole + fraction, exponent - bias - fraction_bits);
}

/// Code of the finite number nearest to `value`; ties to even.
inline unsigned fp8_code(Float8 format, double value) {
  const unsigned sign = std::signbit(value) ? 0x80U : 0U;
  if (std::isnan(value)) return sign | 0x7fU;
  const double magnitude = std::min(std::fabs(value), 1e6);  // keeps differences exact
  unsigned best = 0;
  for (unsigned code = 1; code < 0x7fU && std::isfinite(fp8_number(format, code)); ++code) {
    const double off = std::fabs(fp8_number(format, code) - magnitude);
    const double best_off = std::fabs(fp8_number(format, best) - magnitude);
    if (off < best_off || (off == best_off && code % 2 == 0)) best = code;
  }
  return sign | best;
}

/// The largest power of two, at most 2^100, that keeps all scaled values within the format.
inline double fp8_scale(Float8 format, const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) {
    if (!std::isfinite(value)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::fabs(value));
  }
  if (largest == 0.0) return 1.0;
  double scale = std::ldexp(1.0, 100);
  while (largest * scale > (format == Float8::e4m3 ? 448.0 : 57344.0)) scale /= 2.0;
  return scale;
}

/// `values` rounded to the format at fp8_scale().
inline std::vector<double> fp8_quantise(Float8 format, std::vector<double> values) {
  const double scale = fp8_scale(format, values);
  for (double& value : values)
    value = std::isnan(scale) ? scale : fp8_number(format, fp8_code(format, value * scale)) / scale;
  return values;
}

}  // namespace triax::reference
