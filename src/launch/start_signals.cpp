// SPDX-License-Identifier: Apache-2.0
#include "src/launch/start_signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "kernels/base/check.hpp"
#include "kernels/base/process/quiet_thread.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/launch/launcher.hpp"
#include "src/comm/watchdog/watchdog.hpp"
#include "src/launch/run_requests.hpp"

namespace triax {

StartSignals::StartSignals(int status) : rank_(launched_process().number) {
  const sigset_t set = signals_that_stop();
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  over_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || over_ < 0)
    throw Error("cannot wait for signals", std::strerror(errno), "Raise the limit of open files");
  thread_ = start_quiet_thread([this, status] { watch(status); });
}

void StartSignals::mpi_started(int rank, int size) {
  rank_ = rank;
  size_ = size;
}

StartSignals::~StartSignals() {
  (void)::eventfd_write(over_, 1);
  thread_.join();
  ::close(over_);
  ::close(signals_);
}

void StartSignals::watch(int status) const {
  std::array<pollfd, 2> files = {{{signals_, POLLIN, 0}, {over_, POLLIN, 0}}};
  while (::poll(files.data(), files.size(), -1) < 0)
    if (errno != EINTR) return;
  if (files[1].revents != 0) return;  // the start is over: signals now belong to the run
  signalfd_siginfo info{};
  const bool known = ::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  const std::uint32_t signal = known ? info.ssi_signo : std::uint32_t{SIGUSR1};
  // Rank 0 reports a signal that was sent to all ranks.
  if (rank_ != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  say("triax: stopped by {} before the first step, with nothing to save. Rerun the same command\n",
      signal == SIGTERM  ? "SIGTERM"
      : signal == SIGHUP ? "SIGHUP"
                         : "SIGUSR1");
  // Waits up to 5 s for MPI: a launcher does not end a job's other processes when one ends before
  // MPI has started.
  const bool alone = launched_process().count == 1;
  for (int look = 0; !alone && size_ == 0 && look < 100; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (size_ <= 1) std::_Exit(status);
  end_job(status);
}

}  // namespace triax
