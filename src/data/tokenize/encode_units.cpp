// SPDX-License-Identifier: Apache-2.0
#include "src/data/tokenize/encode_units.hpp"

#include <atomic>
#include <memory>
#include <mutex>

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

}  // namespace

std::int64_t encode_units(const EncodeJob& job, const Ranks& ranks, const UnitProgress& progress) {
  EnoughDocuments enough(job);
  UnitCounters counters;
  std::atomic<std::int64_t> resumed = 0;
  const auto make_work = [&](int) -> UnitWork {
    const auto encoder = std::make_shared<UnitEncoder>(job, counters);
    return [&, encoder](std::size_t unit) {
      if (const auto counts = part_counts(job.directory, unit)) {
        ++resumed;
        counters.bad_lines += counts->bad_lines;
        counters.bytes += job.units[unit].bytes;
      } else if (enough.before(unit)) {
        counters.bytes += job.units[unit].bytes;
      } else {
        encoder->encode(unit);
      }
    };
  };
  work_on_units(ranks, job.options.workers,
                units_of_rank(job.units, ranks.rank, ranks.size, job.options.max_documents > 0),
                counters, make_work, progress);
  return resumed;
}

}  // namespace triax
