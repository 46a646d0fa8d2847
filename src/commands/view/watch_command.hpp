// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax watch: the state of a run in a terminal, from its directory alone.
#include "src/commands/options/context.hpp"

namespace triax {

void add_watch(CLI::App& app, CommandContext& context);

}  // namespace triax
