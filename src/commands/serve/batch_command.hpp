// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax batch: answers to the lines of a file.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command `batch`, which runs on all ranks.
void add_batch(CLI::App& app, CommandContext& context);

}  // namespace triax
