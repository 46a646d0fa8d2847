// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax generate: continues texts with a model.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command `generate`, which runs on all ranks.
void add_generate(CLI::App& app, CommandContext& context);

}  // namespace triax
