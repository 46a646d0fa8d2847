// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a parameter with all its state.
#include "src/config/config.hpp"

namespace triax {

inline constexpr double gb = 1e9;  // bytes, as makers of memory count them

/// Bytes per parameter, by what of it a rank's share shrinks.
struct ParameterBytes {
  double weight, gradient;
  double state;  // optimizer states and float32 master weights
  double whole() const { return weight + gradient + state; }
};

/// Bytes of a parameter of a block's matrices, which nearly all parameters are.
ParameterBytes parameter_bytes(const Config& job);

}  // namespace triax
