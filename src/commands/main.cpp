// SPDX-License-Identifier: Apache-2.0
// Entry point: process-wide settings, MPI, the command line.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <csignal>
#include <optional>

#include "io/files/mapped_file.hpp"
#include "io/files/open_files.hpp"
#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/watchdog/watchdog.hpp"
#include "src/commands/command_line.hpp"
#include "src/commands/process/hangup.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/launch/run_requests.hpp"

namespace {

using namespace triax;

// Called before MPI starts, which would abort without a message. All processes of a job find the
// same; the first one throws.
bool libraries_fit() {
  try {
    check_libraries_fit();
    return true;
  } catch (const Error&) {
    if (launched_process().number == 0) throw;
    return false;
  }
}

int start_and_run(int argc, char** argv, std::chrono::system_clock::time_point started) {
  const Launch launch = launch_of(argc, argv);
  std::optional<StartSignals> start;
  if (launch == Launch::run) {
    if (!libraries_fit()) return run_time_failure;
    hold_signals();  // a signal during the start of libraries is a request to the run, too
    start.emplace(stopped_early);
  }
  MpiSession session = launch == Launch::alone
                           ? MpiSession(MpiSession::Alone{argc > 1 ? 0 : launched_process().number})
                           : MpiSession(&argc, &argv);
  if (start) start->mpi_started(session.rank(), session.size());
  name_unreadable_files();  // again: MPI may have loaded a library that installed its own handler
  restore_hangup();
  CommandContext context{session, start, started};
  const int status = run_command_line(argc, argv, context);
  session.ends_with(status);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const auto started = std::chrono::system_clock::now();  // run.time_limit counts from here
  // A write beyond ulimit -f then fails with EFBIG, which is reported as an error.
  std::signal(SIGXFSZ, SIG_IGN);
  restore_hangup();
  name_unreadable_files();
  allow_more_open_files();
  spdlog::set_default_logger(spdlog::stderr_color_st("triax"));
  spdlog::set_pattern("%v");
  try {
    return start_and_run(argc, argv, started);
  } catch (const std::exception& error) {  // before MpiSession exists
    say("triax: {}\n", failure_text(error));
    return dynamic_cast<const UsageError*>(&error) != nullptr ? usage_failure : run_time_failure;
  }
}
