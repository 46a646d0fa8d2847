// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax trace compare: the traced steps of a run beside their prediction.
#include "src/commands/options/context.hpp"

namespace triax {

void add_trace(CLI::App& app, CommandContext& context);

}  // namespace triax
