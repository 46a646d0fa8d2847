#pragma once
// A limit on what has none of its own.
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace triax {

/// Calls `late` once, in a thread of its own, where it still lives after so many seconds.
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
