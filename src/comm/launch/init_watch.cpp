// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/init_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/process/host_name.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/launch/launcher.hpp"

namespace triax {
namespace {

constexpr const char* limit_name = "TRIAX_START_TIMEOUT";

double limit_asked() {
  const std::string text = environment_variable(limit_name);
  double seconds = 600.0;
  if (text.empty()) return seconds;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(seconds >= 0.1 && seconds <= 1e9))
    throw UsageError(fmt::format("{}={}", limit_name, text),
                     "it is a number of seconds, from 0.1 to 1e9", "Set it to 600, or unset it");
  return seconds;
}

void say_waiting(const LaunchedProcess& process, double waited, const std::string& what_next) {
  say("triax: process {} of {}, on {}, has waited {:.4g} s in MPI_Init for the others. A process "
      "that has not started triax, or uses another MPI library, blocks them all. Check that every "
      "process of the job runs, and read the launcher's messages. {}\n",
      process.number, process.count, host_name(), waited, what_next);
}

}  // namespace

// With thousands of processes, only the first two report at first (one may be the missing
// one), then all that are still there.
InitWatch::InitWatch() {
  const double limit = limit_asked();
  const LaunchedProcess process = launched_process();
  if (process.count <= 1) return;
  constexpr double notice = 60.0;
  if (process.number <= 1 && notice < limit)
    notice_.emplace(notice, [=] {
      say_waiting(process, notice,
                  fmt::format("The job ends after {:.4g} s ({})", limit, limit_name));
    });
  limit_.emplace(limit + 0.1 * std::min(process.number, 50), [=] {
    say_waiting(process, limit, fmt::format("The job ends with status {}", run_time_failure));
    std::_Exit(run_time_failure);
  });
}

}  // namespace triax
