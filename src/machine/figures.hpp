// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one table of figures in a machine file: dotted key, unit, smallest and largest sensible
// value, and the field it sets.
#include <span>

#include "src/machine/machine.hpp"

namespace triax {

struct MachineKey {
  const char* name;  // "memory.bytes"
  const char* unit;
  double least, most;  // beyond them the figure is a slip of units
  bool optional;       // 0 and absent: none or unknown
  double& (*field)(Machine&);
  const char* meaning;
};

/// In the order of a description.
std::span<const MachineKey> machine_keys();

}  // namespace triax
