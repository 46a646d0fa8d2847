// SPDX-License-Identifier: Apache-2.0
#include "src/launch/run_requests.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

sigset_t signals_of_a_run() {
  sigset_t set = signals_that_stop();
  sigaddset(&set, SIGUSR2);
  return set;
}

RunRequest request_of(std::uint32_t signal) {
  switch (signal) {
    case SIGUSR2:
      return RunRequest::save;
    case SIGUSR1:
      return RunRequest::stop_user;
    case SIGHUP:
      return RunRequest::stop_hangup;
    default:
      return RunRequest::stop_ended;
  }
}

}  // namespace

// Blocked signals reach signalfd even if they are ignored.
sigset_t signals_that_stop() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGUSR1, SIGTERM}) sigaddset(&set, signal);
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaddset(&set, SIGHUP);
  return set;
}

std::string source_of(RunRequest request) {
  switch (request) {
    case RunRequest::none:
      return "nothing";
    case RunRequest::save:
      return "SIGUSR2";
    case RunRequest::stop_user:
      return "SIGUSR1";
    case RunRequest::stop_hangup:
      return "SIGHUP";
    case RunRequest::stop_ended:
      return "SIGTERM";
    case RunRequest::stop_time_up:
      return "the end of the job's time";
  }
  return {};
}

void hold_signals() {
  const sigset_t set = signals_of_a_run();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void release_signals() {
  const sigset_t set = signals_of_a_run();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

RunRequests::RunRequests() {
  const sigset_t set = signals_of_a_run();
  signals_ = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals_ < 0)
    throw Error("cannot wait for signals", std::strerror(errno), "Raise the limit of open files");
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

RunRequests::~RunRequests() {
  leave_at_.reset();
  (void)take(0.0);  // pending signals must not end the process once they are unblocked
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  ::close(signals_);
}

RunRequest RunRequests::look(double step) {
  signalfd_siginfo came{};
  while (::read(signals_, &came, sizeof came) == static_cast<ssize_t>(sizeof came))
    signalled_ = std::max(signalled_, request_of(came.ssi_signo));
  const auto next_end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(step));
  return leave_at_ && next_end > *leave_at_ ? RunRequest::stop_time_up : signalled_;
}

RunRequest RunRequests::take(double step) {
  const RunRequest request = look(step);
  signalled_ = RunRequest::none;
  return request;
}

}  // namespace triax
