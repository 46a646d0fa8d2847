// SPDX-License-Identifier: Apache-2.0
#pragma once
// The weights that a job starts from, looked at before a run: headers alone, no numbers.
#include <string>
#include <vector>

#include "src/config/config.hpp"

namespace triax {

/// Lines for the user about names in model.weights that differ from the model's; none where that is
/// empty. Error if a tensor of the model, or of the adapter in model.lora.from, is missing or has
/// another shape, or if that adapter has a value that is not finite.
std::vector<std::string> check_weights(const ModelConfig& model);

}  // namespace triax
