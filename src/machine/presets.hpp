// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machines that are known by name.
#include <optional>
#include <string>
#include <vector>

#include "src/machine/machine.hpp"

namespace triax {

/// h100, h200, a100, v100: nodes of eight GPUs as NVIDIA's data sheets give them (DGX, network
/// included). cpu: nodes of two server processors, 8 ranks each.
std::vector<std::string> preset_names();
/// None: there is no preset of that name.
std::optional<Machine> preset(const std::string& name);

}  // namespace triax
