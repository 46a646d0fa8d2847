#include "src/comm/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/quiet_thread.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto grace = std::chrono::seconds(3);

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void end_job(int status, const std::vector<ProcessName>& others) {
  std::fflush(stderr);
  start_quiet_thread([status, others] {
    std::this_thread::sleep_for(grace);
    for (const ProcessName& process : others)
      if (process.number != getpid()) kill_process(process);
    std::_Exit(status);
  }).detach();
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

Watchdog::Watchdog(ProgressBoard& board, double seconds)
    : board_(board), seconds_(seconds), thread_(start_quiet_thread([this] { watch(); })) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  const double period = std::min(1.0, seconds_ / 10.0);
  std::uint32_t seen = 0;
  double waited = 0.0;
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(period), [&] { return over_; })) {
    const double passed = std::min(since(last), 2.0 * period);  // more: this process was stopped
    last = Clock::now();
    const std::uint32_t now = board_.waits();
    waited = now == seen && now % 2 != 0 ? waited + passed : 0.0;
    seen = now;
    if (waited < seconds_) continue;
    end(waited, lock);
    waited = 0.0;
  }
}

// Returns where the wait has ended after all.
void Watchdog::end(double waited, std::unique_lock<std::mutex>& lock) {
  const std::uint32_t wait = board_.waits();
  if (!board_.take_report()) {  // another rank ends the job
    ended_.wait_for(lock, 2 * grace + std::chrono::duration<double>(std::min(30.0, seconds_)),
                    [&] { return over_; });
    if (board_.waits() != wait) return;
  }
  const std::string report = board_.report(waited);
  if (report.empty()) return board_.give_report_back();
  fmt::print(stderr,
             "triax: {}\nThe job ends with status {}: run.collective_timeout is {:.4g} s. Look "
             "for the first failure of a rank or node, or raise it where ranks are only slow; the "
             "same command resumes the newest checkpoint\n",
             report, run_time_failure, seconds_);
  std::fflush(stderr);
  // A rank of each node says what its node knows; their waits began within a step of each other.
  if (board_.has_other_nodes())
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(30.0, seconds_ / 10.0)));
  end_job(run_time_failure, board_.processes_of_node());
}

}  // namespace triax
