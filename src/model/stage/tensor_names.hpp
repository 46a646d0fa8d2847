// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of a model's tensors that a pattern of a job file may mean.
#include <cstdint>
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// Whether a pattern stands for tensors, or also for the modules above them.
enum class PatternOf : std::uint8_t { tensors, modules };

/// The three names most like `pattern`, which matches none; a * for the number of a block.
std::vector<std::string> nearest_tensor_names(const std::string& pattern, const ModelConfig& model,
                                              PatternOf of);

}  // namespace triax
