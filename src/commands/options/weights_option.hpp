// SPDX-License-Identifier: Apache-2.0
#pragma once
// --weights: which weights of a checkpoint a command computes with.
#include <string>

#include "src/checkpoint/checkpoint.hpp"

namespace CLI {
class App;
}

namespace triax {

/// Adds the option; `value` is "trained" before and must outlive the command.
void add_weights(CLI::App* command, std::string& value);
/// The meaning of its value.
SavedWeights saved_weights(const std::string& value);

}  // namespace triax
