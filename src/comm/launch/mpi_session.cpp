// SPDX-License-Identifier: Apache-2.0
#include "src/comm/launch/mpi_session.hpp"

#include <malloc.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>

#include "kernels/base/check.hpp"
#include "kernels/base/exit_status.hpp"
#include "kernels/base/mpi/mpi_error.hpp"
#include "kernels/base/mpi/wait.hpp"
#include "kernels/base/process/quiet_thread.hpp"
#include "kernels/base/process/say.hpp"
#include "src/comm/launch/init_watch.hpp"
#include "src/comm/launch/timer.hpp"
#include "src/comm/watchdog/watchdog.hpp"

namespace triax {
namespace {

// MPI allocates scratch memory for each of its reductions. By default glibc returns it to the
// system each time, and the page faults of the next one cost as much as the transfer: 500 MB over 2
// ranks were all-reduced in 197 ms, and in 105 ms with memory kept (reduce-scatter 182 and 89 ms).
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

// True if `request` completes within `seconds`; false also if MPI fails.
bool complete_within(MPI_Request& request, double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  for (Patience others(WaitPolicy::yield);; others.pause()) {
    int done = 0;
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done != 0) return true;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() >= seconds) return false;
  }
}

}  // namespace

MpiSession::MpiSession(int* argc, char*** argv) : exceptions_(std::uncaught_exceptions()) {
  keep_freed_memory();
  const InitWatch watch;
  int provided = MPI_THREAD_SINGLE;
  {
    // MPI libraries start threads (UCX does). Such a thread could take a signal that the main
    // thread blocks, and the process would end.
    const SignalsBlocked quiet;
    check_mpi(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread",
              "this process");
  }
  // MPICH uses the error handler of MPI_COMM_WORLD for a failed MPI_Test in any communicator.
  const auto checked = [](int code, std::string_view call) {
    check_mpi(code, call, "this process");
  };
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    checked(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  checked(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
  checked(MPI_Comm_dup(MPI_COMM_WORLD, &exit_), "MPI_Comm_dup");
  if (provided < MPI_THREAD_FUNNELED)
    throw Error("this MPI library does not work in a program with threads",
                "it offers less than MPI_THREAD_FUNNELED",
                "Use a build of MPI with thread support");
}

MpiSession::MpiSession(Alone alone) : exceptions_(std::uncaught_exceptions()), rank_(alone.rank) {}

MpiSession::~MpiSession() {
  if (exit_ == MPI_COMM_NULL) return;
  if (std::uncaught_exceptions() > exceptions_) abort(run_time_failure);
  // Under srun --kill-on-bad-exit the first rank that leaves with status 75 ends the step. SIGTERM
  // must not change the status of ranks leaving at the same time.
  for (const int late : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) (void)::signal(late, SIG_IGN);
  // MPI_Finalize spins while it waits for the last rank; this barrier does not. It is skipped if
  // all_arrive() has seen all ranks.
  MPI_Request request = MPI_REQUEST_NULL;
  if (!arrived_ && MPI_Ibarrier(exit_, &request) == MPI_SUCCESS &&
      !complete_within(request, limit_)) {
    say("triax: rank {} has ended, and other ranks have not ended within {} s "
        "(run.collective_timeout). The job is aborted\n",
        rank_, limit_);
    abort(run_time_failure);
  }
  MPI_Comm_free(&exit_);
  // MPI_Finalize has no limit, and a rank may die or a network hang in it: three of nine test runs
  // that shared an H100's machine with 30 processes stayed in that of MPICH 4.0.2 over UCX, one
  // rank in PMI's barrier, the others waiting for it. All ranks have arrived and the run is
  // complete by then, so patience is short.
  const double limit = std::min(limit_, 60.0);
  std::optional<Timer> late;
  try {
    late.emplace(limit, [this, limit] {
      if (rank_ == 0)
        say("triax: the run has ended, but MPI_Finalize has not returned for {:.4g} s{}. The "
            "processes exit without it\n",
            limit, limit_ == limit ? " (run.collective_timeout)" : "");
      std::fflush(nullptr);
      std::_Exit(status_);
    });
  } catch (const std::system_error&) {  // no thread available: finalize without a limit
  }
  MPI_Finalize();
}

bool MpiSession::all_arrive(double patience) {
  if (exit_ == MPI_COMM_NULL) return true;
  MPI_Request request = MPI_REQUEST_NULL;
  if (MPI_Ibarrier(exit_, &request) != MPI_SUCCESS) return false;
  arrived_ = complete_within(request, patience);
  return arrived_;
}

bool MpiSession::any(bool own, double patience) {
  if (exit_ == MPI_COMM_NULL) return own;
  own_flag_ = own ? 1 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  return MPI_Iallreduce(&own_flag_, &any_flag_, 1, MPI_INT, MPI_MAX, exit_, &request) !=
             MPI_SUCCESS ||
         !complete_within(request, patience) || any_flag_ != 0;
}

void MpiSession::abort(int status) const {
  std::fflush(nullptr);
  if (size_ > 1) end_job(status);
  std::_Exit(status);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  std::string line(text.data());
  line.resize(std::min(line.find('\n'), line.size()));
  std::replace(line.begin(), line.end(), '\t', ' ');
  return line;
}

}  // namespace triax
