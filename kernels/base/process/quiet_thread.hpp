#pragma once
// Threads that take no signals: those are for the thread that steers the program.
#include <csignal>
#include <functional>
#include <thread>

namespace triax {

/// While it lives the calling thread takes no signals, and threads begun meanwhile never do: a
/// thread starts with its maker's mask.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::thread start_quiet_thread(std::function<void()> body);

}  // namespace triax
