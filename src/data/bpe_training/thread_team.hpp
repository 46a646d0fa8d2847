// SPDX-License-Identifier: Apache-2.0
#pragma once
// Threads that wait for short pieces of work.
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/base/mpi/first_failure.hpp"

namespace triax {

class ThreadTeam {
 public:
  /// The caller of run() is one of the threads.
  explicit ThreadTeam(int threads) : failures_(static_cast<std::size_t>(threads)) {
    for (int t = 1; t < threads; ++t) threads_.emplace_back([this, t] { serve(t); });
  }
  ~ThreadTeam() {
    ended_ = true;
    start();
    for (std::thread& thread : threads_) thread.join();
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  int size() const { return static_cast<int>(failures_.size()); }
  /// Calls work(t) on thread t, for all of them, and waits. Throws what a thread threw.
  void run(const std::function<void(int)>& work) {
    work_ = &work;
    running_ = static_cast<int>(threads_.size());
    start();
    failures_[0].of([&] { work(0); });
    for (int left = running_; left > 0; left = running_) running_.wait(left);
    for (FirstFailure& failure : failures_) std::exchange(failure, {}).rethrow();
  }

 private:
  void start() {
    ++round_;
    round_.notify_all();
  }
  void serve(int t) {
    for (std::uint32_t seen = 0;; ++seen) {
      round_.wait(seen);
      if (ended_) return;
      failures_[static_cast<std::size_t>(t)].of([&] { (*work_)(t); });
      if (--running_ == 0) running_.notify_all();
    }
  }

  std::vector<FirstFailure> failures_;  // by thread
  std::atomic<std::uint32_t> round_ = 0;
  std::atomic<int> running_ = 0;
  std::atomic<bool> ended_ = false;
  const std::function<void(int)>* work_ = nullptr;
  std::vector<std::thread> threads_;
};

}  // namespace triax
