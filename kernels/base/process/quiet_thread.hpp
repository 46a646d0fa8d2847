// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that receive no signals: signals are for the program's main thread.
#include <csignal>
#include <functional>
#include <thread>

namespace triax {

/// Blocks all signals in the calling thread while it lives. Threads started meanwhile block them
/// for good: a thread inherits the signal mask of the thread that starts it.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Starts a thread with all signals blocked.
std::thread start_quiet_thread(std::function<void()> body);

}  // namespace triax
