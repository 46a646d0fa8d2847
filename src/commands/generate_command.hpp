// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax generate: a text that the model of a checkpoint continues.
#include "src/commands/context.hpp"

namespace triax {

/// Adds the command `generate`, which rank 0 obeys alone.
void add_generate(CLI::App& app, CommandContext& context);

}  // namespace triax
