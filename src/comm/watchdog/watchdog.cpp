// SPDX-License-Identifier: Apache-2.0
#include "src/comm/watchdog/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "kernels/base/exit_status.hpp"
#include "kernels/base/process/quiet_thread.hpp"
#include "kernels/base/process/say.hpp"

namespace triax {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto grace = std::chrono::seconds(3);
// File systems fail over within a quarter of an hour. One that never answers must not hold the
// job's nodes until its time limit.
constexpr double patience_with_files = 6.0;  // times `seconds`

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
  // A launcher that learns of the end may stop its helpers before they have forwarded the last
  // output.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

Watchdog::Watchdog(ProgressBoard& board, double seconds)
    : board_(board), seconds_(seconds), thread_(start_quiet_thread([this] { watch(); })) {}

void Watchdog::exchange_in(const std::string& directory) {
  const std::lock_guard lock(mutex_);
  exchange_.emplace(board_, directory, seconds_);
}

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
  double limit = seconds_;
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::duration<double>(period), [&] { return over_; })) {
    const double passed =
        std::min(since(last), 2.0 * period);  // longer gap: this process was stopped
    last = Clock::now();
    const std::uint32_t now = board_.waits();
    const bool same = now == seen && now % 2 != 0;
    waited = same ? waited + passed : 0.0;
    if (!same) limit = seconds_;
    seen = now;
    if (waited < limit) continue;
    const double more = time_granted(waited, lock);
    if (more == 0.0) waited = 0.0;
    limit = more == 0.0 ? seconds_ : waited + more;
  }
}

// Another rank ends the job; this one waits for that.
void Watchdog::wait_for_the_end(std::unique_lock<std::mutex>& lock) {
  const double answers = std::max(std::min(30.0, seconds_), StallExchange::patience(seconds_));
  ended_.wait_for(lock, 2 * grace + std::chrono::duration<double>(answers), [&] { return over_; });
}

// The file work that explains a long wait, as text; empty if none is known.
std::string Watchdog::work_on_files(const StallExchange::Answers& others) const {
  const std::vector<RankProgress> seen = board_.seen(others.ranks);
  if (!all_run(seen)) return {};
  if (others.hangs) return others.problem;
  const std::string workers = board_.has_all(others.ranks) ? file_workers(seen) : "";
  return workers.empty() ? "" : workers + " still at work on files";
}

// Ends the job, or returns the seconds after which to check again if file work explains the wait; 0
// if the wait has ended.
double Watchdog::time_granted(double waited, std::unique_lock<std::mutex>& lock) {
  const std::uint32_t wait = board_.waits();
  const bool patient = waited < patience_with_files * seconds_;
  double postponed = board_.postponed_for();
  if (patient && postponed > 0.0) return postponed;
  if (!board_.take_report()) {
    wait_for_the_end(lock);
    if (board_.waits() != wait) return 0.0;
    postponed = board_.postponed_for();
    if (patient && postponed > 0.0) return postponed;
  }
  StallExchange::Answers others;
  if (exchange_) others = exchange_->ask();
  if (!others.first) {
    wait_for_the_end(lock);
    if (board_.waits() != wait) {
      board_.give_report_back();
      return 0.0;
    }
    others = exchange_->ask(true);
  }
  if (board_.waits() != wait) {  // asking took seconds: the wait has ended, another may have begun
    if (exchange_ && !others.taken_back) exchange_->take_back();
    board_.give_report_back();
    return 0.0;
  }
  const std::string work = work_on_files(others);
  if (patient && (others.taken_back || !work.empty())) {
    if (!work.empty())
      say("triax: a wait has lasted {:.4g} s, with {}: the job waits on, up to {:.4g} s in all ({} "
          "times run.collective_timeout)\n",
          waited, work, patience_with_files * seconds_, patience_with_files);
    if (exchange_ && !others.taken_back) exchange_->take_back();
    board_.postpone(seconds_);
    board_.give_report_back();
    return seconds_;
  }
  end(waited, others);
  board_.give_report_back();
  return 0.0;
}

// Returns only if the wait has ended after all.
void Watchdog::end(double waited, const StallExchange::Answers& others) {
  const std::string report = board_.report(waited, others.ranks, others.problem);
  if (report.empty()) {
    if (exchange_) exchange_->take_back();
    return;
  }
  say("triax: {}\nThe job ends with status {}: run.collective_timeout is {:.4g} s. Look for the "
      "first failure of a rank or node; if ranks are only slow, raise run.collective_timeout. The "
      "same command resumes from the newest checkpoint\n",
      report, run_time_failure, seconds_);
  // If nodes do not hear each other (yet), one rank of each node reports what its node knows.
  if (board_.has_other_nodes() && (!exchange_ || !others.problem.empty()))
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(30.0, seconds_ / 10.0)));
  // No take_back() here: a rank of another node whose wait exceeds the limit before the launcher
  // has ended it finds that this rank has asked, and stays silent.
  end_job(run_time_failure, board_.processes_of_node());
}

}  // namespace triax
