// SPDX-License-Identifier: Apache-2.0
#pragma once
// The policy by which a thread waits for another process. comm uses it for messages, io for the
// outcome of a file operation.
#include <cstdint>

#include "kernels/base/scope.hpp"

namespace triax {

/// spin: test without pause, and yield the core only after a while; right when every rank of the
/// node has a core. yield: test a few times, then yield the core. With more ranks than cores a
/// spinning rank keeps the rank it waits for from running: an 8-float all-reduce of 8 ranks on 2
/// cores takes 51 ms with spin and below 1 ms with yield.
enum class WaitPolicy : std::uint8_t { spin, yield };

/// spin if each of `ranks_on_node` has a core, else yield.
constexpr WaitPolicy wait_policy(int ranks_on_node, int cores_of_node) {
  return ranks_on_node <= cores_of_node ? WaitPolicy::spin : WaitPolicy::yield;
}

/// One wait: call pause() between two tests of the awaited condition.
class Patience {
 public:
  explicit Patience(WaitPolicy policy);
  /// Does nothing at first, yields the core later, and sleeps for a short time after that.
  void pause();

 private:
  int pauses_ = 0;
  int pauses_before_yield_;
  int pauses_before_nap_;
};

/// Receives the begin and end of each wait for other ranks outside of training steps (ProgressBoard
/// in src/comm), so that a wait without end can be explained.
class WaitWatch {
 public:
  virtual ~WaitWatch() = default;
  virtual void begins() = 0;
  virtual void ends() = 0;
  /// Between these calls the rank works on files, which may take long; ranks that wait for it are
  /// not stuck.
  virtual void file_work_begins() = 0;
  virtual void file_work_ends() = 0;
};

/// A wait for the duration of a scope; `watch` may be null.
using WaitScope = Scope<&WaitWatch::begins, &WaitWatch::ends>;
/// File work for the duration of a scope, including the waits in it; `watch` may be null.
using FileScope = Scope<&WaitWatch::file_work_begins, &WaitWatch::file_work_ends>;

}  // namespace triax
