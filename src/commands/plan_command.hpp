// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax plan.
#include "src/commands/options/context.hpp"

namespace triax {

/// Adds the command to `app`.
void add_plan(CLI::App& app, CommandContext& context);

}  // namespace triax
