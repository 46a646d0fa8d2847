// SPDX-License-Identifier: Apache-2.0
#include "src/commands/job_arguments.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/comm/launch/start_meeting.hpp"
#include "src/commands/options/shared_options.hpp"
#include "src/forecast/memory_check.hpp"
#include "src/launch/same_job.hpp"

namespace triax {

CLI::Option* add_overrides(CLI::App* command, std::vector<std::string>& overrides) {
  return add_overrides(command, overrides,
                       "Override one key of the job by its dotted path, as parallel.tensor=2; may "
                       "be given many times");
}

namespace {

void require_file_for_ranks(const std::string& job, int ranks) {
  std::error_code ignored;
  if (ranks == 1 || !std::filesystem::is_other(job, ignored)) return;
  throw UsageError(fmt::format("{} is a pipe or a device", job),
                   fmt::format("each of the {} ranks reads the job file", ranks),
                   "Write the job to a file that all ranks see, and give its name");
}

}  // namespace

LoadedJob load_on_all_ranks(MpiSession& session, const std::string& job,
                            const std::function<LoadedJob()>& load) {
  const StartMeeting meeting(MPI_COMM_WORLD);
  LoadedJob loaded;
  std::string facts;
  try {
    require_file_for_ranks(job, session.size());
    loaded = load();
    check_plannable(loaded.config);
    facts = job_facts(loaded);
  } catch (const UsageError& error) {
    meeting.fail(error.what(), usage_failure);
  } catch (const std::exception& error) {
    meeting.fail(failure_text(error), run_time_failure);
  }
  const double timeout = loaded.config.run.collective_timeout;
  session.end_within(timeout);
  meeting.meet(timeout);
  check_same_job(MPI_COMM_WORLD, facts);
  return loaded;
}

void warn_of_missing(const std::vector<std::string>& missing) {
  for (const std::string& file : missing) spdlog::warn("triax: missing: {}", file);
}

}  // namespace triax
