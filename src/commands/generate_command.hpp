// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax generate: continues a text with the model of a checkpoint.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command `generate`, which runs on rank 0 alone.
void add_generate(CLI::App& app, CommandContext& context);

}  // namespace triax
