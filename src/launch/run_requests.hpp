// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests to a running training: by signals, and by the end of its time.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace triax {

/// Request to be obeyed after a step, the weightier the larger: all ranks obey the largest.
enum class RunRequest : std::uint8_t {
  none,
  save,          // SIGUSR2: write a checkpoint and go on
  stop_user,     // SIGUSR1: write a checkpoint and leave
  stop_hangup,   // SIGHUP: likewise
  stop_ended,    // SIGTERM: likewise
  stop_time_up,  // the job's time is nearly up: likewise
};

inline bool stops(RunRequest request) {
  return request >= RunRequest::stop_user;
}
/// Source of a request: "SIGUSR1", "the end of the job's time".
std::string source_of(RunRequest request);

/// SIGUSR1, SIGTERM, and SIGHUP unless it is ignored, as under nohup.
sigset_t signals_that_stop();

/// From here on these signals wait for a RunRequests that is to come: for the start of a program
/// that may train. The calling thread, and those that it starts.
void hold_signals();
/// They do again what they do to every program.
void release_signals();

/// SIGUSR2 and the signals that stop wait in the kernel while this lives, until they are asked for:
/// no handler runs in the middle of a step. Threads that are started meanwhile inherit it; older
/// ones must have these signals blocked (MpiSession sees to that for MPI's). See signalfd(2).
class RunRequests {
 public:
  using Clock = std::chrono::system_clock;

  RunRequests();
  ~RunRequests();
  RunRequests(const RunRequests&) = delete;
  RunRequests& operator=(const RunRequests&) = delete;

  /// From now on stop_time_up is asked for in time to be gone then; nothing: never.
  void leave_at(std::optional<Clock::time_point> time) { leave_at_ = time; }

  /// The weightiest of what came since the last call, or stop_time_up where another step of `step`
  /// seconds would end after `leave_at`.
  RunRequest take(double step);
  /// The same, but the next call tells of it again.
  RunRequest look(double step);

 private:
  RunRequest signalled_ = RunRequest::none;  // by what came and was not taken
  std::optional<Clock::time_point> leave_at_;
  sigset_t before_{};
  int signals_ = -1;  // the file that holds those that came
};

}  // namespace triax
