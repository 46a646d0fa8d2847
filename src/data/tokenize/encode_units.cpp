// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/encode_units.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/first_failure.hpp"
#include "src/data/tokenize/unit_encoder.hpp"

namespace triax {
namespace {

// Finds out that the first units hold max_documents documents, so that no other is needed.
class EnoughDocuments {
 public:
  explicit EnoughDocuments(const EncodeJob& job) : job_(job) {}

  /// Whether the parts in front of `unit` that exist hold all documents asked for. Duplicates are
  /// known at the end alone.
  bool before(std::size_t unit) {
    if (job_.options.max_documents == 0 || job_.options.deduplicate) return false;
    const std::scoped_lock lock(mutex_);
    while (next_ < unit && documents_ < job_.options.max_documents) {
      const auto counts = part_counts(job_.directory, next_);
      if (!counts) return false;
      documents_ += counts->sure;
      ++next_;
    }
    return documents_ >= job_.options.max_documents;
  }

 private:
  const EncodeJob& job_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::int64_t documents_ = 0;
};

// The threads of a rank.
class Workers {
 public:
  Workers(const EncodeJob& job, std::vector<std::size_t> own)
      : job_(job), own_(std::move(own)), enough_(job), running_(job.options.workers) {
    for (int t = 0; t < job.options.workers; ++t) threads_.emplace_back([this] { work(); });
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
  void stop() { counters_.stop = true; }
  std::int64_t bytes() const { return counters_.bytes; }
  std::int64_t resumed() const { return resumed_; }
  void rethrow() const { failure_.rethrow(); }

 private:
  void work() noexcept {
    try {
      UnitEncoder encoder(job_, counters_);
      for (std::size_t i = next_++; i < own_.size() && !counters_.stop; i = next_++)
        make(encoder, own_[i]);
    } catch (...) {
      counters_.stop = true;
      const std::scoped_lock lock(mutex_);
      failure_.keep(std::current_exception());
    }
    const std::scoped_lock lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  void make(UnitEncoder& encoder, std::size_t unit) {
    if (const auto counts = part_counts(job_.directory, unit)) {
      ++resumed_;
      counters_.bad_lines += counts->bad_lines;
      counters_.bytes += job_.units[unit].bytes;
    } else if (enough_.before(unit)) {
      counters_.bytes += job_.units[unit].bytes;
    } else {
      encoder.encode(unit);
    }
  }

  const EncodeJob& job_;
  std::vector<std::size_t> own_;
  EnoughDocuments enough_;
  EncodeCounters counters_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::int64_t> resumed_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;  // as wait() last saw it
  int running_;         // threads that have not ended
  FirstFailure failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::int64_t encode_units(const EncodeJob& job, const Ranks& ranks,
                          const EncodeProgress& progress) {
  Workers workers(job,
                  units_of_rank(job.units, ranks.rank, ranks.size, job.options.max_documents > 0));
  const auto all = static_cast<std::uint64_t>(ranks.size);
  // bytes, ranks that have ended, ranks that have failed
  for (std::array<std::uint64_t, 3> sums{}; sums[1] < all;) {
    const bool ended = workers.wait();
    sums = {static_cast<std::uint64_t>(workers.bytes()), ended ? 1U : 0U,
            workers.failed() ? 1U : 0U};
    sum_over_ranks(ranks, sums);
    progress(static_cast<std::int64_t>(sums[0]));
    if (sums[2] > 0) workers.stop();
  }
  agreed(ranks, [&] { workers.rethrow(); });
  return workers.resumed();
}

}  // namespace triax
