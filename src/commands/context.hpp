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

/// How a command meets MPI.
enum class Launch : std::uint8_t {
  alone,  // without MPI: works in the shell of a batch job, where MPI may not start
  ranks,  // on all ranks that a launcher started, or as one process
  run,    // the same, and signals are held from the start: they are requests to the run
};

/// Context of a command: what main() gives to it, and its exit status.
struct CommandContext {
  MpiSession& session;
  std::optional<StartSignals>& start;             // ends when a run takes signals itself
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
