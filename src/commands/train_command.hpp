// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax train: a training run, or its plan.
#include "src/commands/options/context.hpp"

namespace triax {

void add_train(CLI::App& app, CommandContext& context);

}  // namespace triax
