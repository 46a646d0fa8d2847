// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax report: the runs of some directories as one HTML page.
#include "src/commands/options/context.hpp"

namespace triax {

void add_report(CLI::App& app, CommandContext& context);

}  // namespace triax
