// SPDX-License-Identifier: Apache-2.0
#pragma once
// The job file on a command line, and how a command reads it.
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

/// Collective. The job that `load` reads, the same on all ranks, before there is a process grid
/// (its shape is the job's). UsageError where a rank refuses the job, or where the sizes are
/// beyond any plan.
LoadedJob load_on_all_ranks(MpiSession& session, const std::function<LoadedJob()>& load);

/// Warns of files that a run would read and not find.
void warn_of_missing(const std::vector<std::string>& missing);

}  // namespace triax
