// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax serve: OpenAI's API over HTTP with the model of a checkpoint or directory.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command `serve`. Collective; rank 0 serves.
void add_serve(CLI::App& app, CommandContext& context);

}  // namespace triax
