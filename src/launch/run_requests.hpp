// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests to a training run: by signals, and by the end of its time.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace triax {

/// Request to a run, obeyed after a step. Larger values have priority: all ranks obey the largest.
enum class RunRequest : std::uint8_t {
  none,
  save,          // SIGUSR2: write a checkpoint and go on
  stop_user,     // SIGUSR1: write a checkpoint and leave
  stop_hangup,   // SIGHUP: write a checkpoint and leave
  stop_ended,    // SIGTERM: write a checkpoint and leave
  stop_time_up,  // the job's time is nearly up: write a checkpoint and leave
};

inline bool stops(RunRequest request) {
  return request >= RunRequest::stop_user;
}
/// Source of a request: "SIGUSR1", "the end of the job's time".
std::string source_of(RunRequest request);

/// SIGUSR1, SIGTERM, and SIGHUP unless it is ignored, as under nohup.
sigset_t signals_that_stop();

/// Blocks SIGUSR2 and signals_that_stop() in the calling thread and the threads it starts, until a
/// RunRequests reads them. Called at the start of a program that may train.
void hold_signals();
/// Unblocks these signals, which then have their default effect.
void release_signals();

/// Blocks SIGUSR2 and signals_that_stop() while it lives and reads them from a signalfd(2): no
/// handler runs in the middle of a step. Threads started meanwhile inherit the mask; older threads
/// must have these signals blocked (MpiSession does so for MPI's threads).
class RunRequests {
 public:
  using Clock = std::chrono::system_clock;

  RunRequests();
  ~RunRequests();
  RunRequests(const RunRequests&) = delete;
  RunRequests& operator=(const RunRequests&) = delete;

  /// Sets the time by which the run must have ended; nothing: no limit.
  void leave_at(std::optional<Clock::time_point> time) { leave_at_ = time; }

  /// Largest request since the last call, or stop_time_up if another step of `step` seconds would
  /// end after `leave_at`.
  RunRequest take(double step);
  /// As take(), but the next call returns the request again.
  RunRequest look(double step);

 private:
  RunRequest signalled_ = RunRequest::none;  // largest signal that was read and not taken
  std::optional<Clock::time_point> leave_at_;
  sigset_t before_{};
  int signals_ = -1;  // signalfd
};

}  // namespace triax
