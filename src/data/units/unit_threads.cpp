// SPDX-License-Identifier: Apache-2.0
#include "src/data/units/unit_threads.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/base/mpi/first_failure.hpp"

namespace triax {
namespace {

// The threads of a rank.
class Workers {
 public:
  Workers(int threads, const std::vector<std::size_t>& own, UnitCounters& counters,
          const MakeUnitWork& make_work)
      : own_(own), counters_(counters), make_work_(make_work), running_(threads) {
    for (int t = 0; t < threads; ++t) threads_.emplace_back([this, t] { work(t); });
  }
  ~Workers() {
    counters_.stop = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Waits a moment, or until the threads have just ended. True where they have.
  bool wait() {
    constexpr std::chrono::milliseconds moment{200};
    std::unique_lock lock(mutex_);
    // Ranks that waited in MPI for the others would take their cores.
    if (std::exchange(ended_, running_ == 0)) changed_.wait_for(lock, moment, [] { return false; });
    return changed_.wait_for(lock, moment, [this] { return running_ == 0; });
  }
  bool failed() {
    const std::scoped_lock lock(mutex_);
    return failure_.met();
  }
  void rethrow() const { failure_.rethrow(); }

 private:
  void work(int thread) noexcept {
    try {
      const UnitWork on_unit = make_work_(thread);
      for (std::size_t i = next_++; i < own_.size() && !counters_.stop; i = next_++)
        on_unit(own_[i]);
    } catch (...) {
      counters_.stop = true;
      const std::scoped_lock lock(mutex_);
      failure_.keep(std::current_exception());
    }
    const std::scoped_lock lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  const std::vector<std::size_t>& own_;
  UnitCounters& counters_;
  const MakeUnitWork& make_work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;  // as wait() last saw it
  int running_;         // threads that have not ended
  FirstFailure failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

void work_on_units(const Ranks& ranks, int threads, const std::vector<std::size_t>& own,
                   UnitCounters& counters, const MakeUnitWork& make_work,
                   const UnitProgress& progress) {
  Workers workers(threads, own, counters, make_work);
  const auto all = static_cast<std::uint64_t>(ranks.size);
  // bytes, ranks that have ended, ranks that have failed
  for (std::array<std::uint64_t, 3> sums{}; sums[1] < all;) {
    const bool ended = workers.wait();
    sums = {static_cast<std::uint64_t>(counters.bytes.load()), ended ? 1U : 0U,
            workers.failed() ? 1U : 0U};
    sum_over_ranks(ranks, sums);
    progress(static_cast<std::int64_t>(sums[0]));
    if (sums[2] > 0) counters.stop = true;
  }
  agreed(ranks, [&] { workers.rethrow(); });
}

}  // namespace triax
