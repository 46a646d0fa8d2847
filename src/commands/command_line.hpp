// SPDX-License-Identifier: Apache-2.0
#pragma once
// Command line of triax: the table of commands, and the errors of a wrong word.
#include "src/commands/options/context.hpp"

namespace triax {

/// MPI use of the command that `argv` names; Launch::alone for help and version.
Launch launch_of(int argc, char** argv);

/// Runs the command line, --help and --version included. Returns the exit status; reports errors by
/// fail().
int run_command_line(int argc, char** argv, CommandContext& context);

}  // namespace triax
