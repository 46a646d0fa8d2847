// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax checkpoint ...: what looks into checkpoint files. Every command runs alike as one process
// and under mpiexec, where the ranks share out the reading.
#include "src/commands/context.hpp"

namespace triax {

/// The exit status of `verify` where data are damaged, and of `diff` where files differ.
constexpr int found_status = 3;

/// Adds the command `checkpoint` with those below it.
void add_checkpoint(CLI::App& app, CommandContext& context);

}  // namespace triax
