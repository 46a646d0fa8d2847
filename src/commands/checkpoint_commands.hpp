// SPDX-License-Identifier: Apache-2.0
#pragma once
// triax checkpoint ...: inspects, compares and converts checkpoint files. Every command runs as one
// process or under mpiexec, where the ranks share the reading.
#include "kernels/base/exit_status.hpp"
#include "src/commands/options/context.hpp"

namespace triax {

/// Exit status of `verify` and `list` if data are damaged, and of `diff` if files differ.
constexpr int found_status = run_time_failure;

/// Adds the command `checkpoint` with its subcommands.
void add_checkpoint(CLI::App& app, CommandContext& context);

}  // namespace triax
