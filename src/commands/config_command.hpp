// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax config: a job with its defaults, or the reference of keys.
#include "src/commands/options/context.hpp"

namespace triax {

void add_config(CLI::App& app, CommandContext& context);

}  // namespace triax
