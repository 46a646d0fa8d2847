// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of triax: the table of commands, and what a wrong word is answered with.
#include "src/commands/context.hpp"

namespace triax {

/// How the command that `argv` names meets MPI. Help and versions need none.
Launch launch_of(int argc, char** argv);

/// Does what the command line says, help and version included. Returns the exit status; an error is
/// reported (see fail()).
int run_command_line(int argc, char** argv, CommandContext& context);

}  // namespace triax
