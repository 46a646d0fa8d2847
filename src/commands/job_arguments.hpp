// SPDX-License-Identifier: Apache-2.0
#pragma once
// Job file on a command line, and how a command loads it.
#include <functional>
#include <string>
#include <vector>

#include "src/comm/launch/mpi_session.hpp"
#include "src/config/load/load.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace triax {

struct JobArguments {
  std::string job;                     // path of the job file
  std::vector<std::string> overrides;  // KEY=VALUE
};

/// Adds the option --set.
CLI::Option* add_overrides(CLI::App* command, std::vector<std::string>& overrides);

/// Collective. Calls `load` on every rank and checks that all ranks loaded the same job. Works
/// without a process grid, whose shape the job defines. UsageError if a rank refuses the job, its
/// sizes are too large to plan, or its file, `job`, is a pipe that only one of several ranks could
/// read.
LoadedJob load_on_all_ranks(MpiSession& session, const std::string& job,
                            const std::function<LoadedJob()>& load);

/// Warns of missing files that a run would read.
void warn_of_missing(const std::vector<std::string>& missing);

}  // namespace triax
