// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax doctor: problems of the machine, the ranks and the directories of a run.
#include "src/commands/options/context.hpp"

namespace triax {

void add_doctor(CLI::App& app, CommandContext& context);

}  // namespace triax
