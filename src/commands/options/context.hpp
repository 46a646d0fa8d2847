// SPDX-License-Identifier: Apache-2.0
#pragma once
// A command of triax: one file, and one row of the table in command_line.cpp.
#include <chrono>
#include <cstdint>
#include <optional>

#include "src/comm/launch/mpi_session.hpp"
#include "src/launch/start_signals.hpp"

namespace CLI {
class App;
}

namespace triax {

/// MPI use of a command.
enum class Launch : std::uint8_t {
  alone,  // without MPI: works in the shell of a batch job, where MPI may not start
  ranks,  // with MPI: on all ranks that a launcher started, or as one process
  run,    // with MPI, and signals blocked from the start: they are requests to the run
};

/// Arguments of a command from main(), and its exit status.
struct CommandContext {
  MpiSession& session;
  std::optional<StartSignals>& start;             // reset when the run reads signals itself
  std::chrono::system_clock::time_point started;  // of the program: run.time_limit counts from it
  int status = 0;                                 // exit status
};

struct Command {
  const char* name;
  Launch launch;
  /// Adds the subcommand with its options; its callback does the work. `context` outlives `app`.
  void (*add)(CLI::App& app, CommandContext& context);
};

}  // namespace triax
