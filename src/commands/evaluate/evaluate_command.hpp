// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax evaluate: perplexity, multiple choice and generation tasks, on any grid.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command `evaluate`, which runs on all ranks.
void add_evaluate(CLI::App& app, CommandContext& context);

}  // namespace triax
