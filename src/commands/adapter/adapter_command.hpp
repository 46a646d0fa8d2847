// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax adapter: look at low-rank adapters, merge them into their base, compare them.
#include "src/commands/options/context.hpp"

namespace triax {

void add_adapter(CLI::App& app, CommandContext& context);

}  // namespace triax
