// SPDX-License-Identifier: Apache-2.0
#pragma once
// A time limit for calls that have none of their own.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace triax {

/// Calls `late` once, in its own thread, if the object still exists after `seconds`.
class Timer {
 public:
  Timer(double seconds, std::function<void()> late);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace triax
