// SPDX-License-Identifier: Apache-2.0
#include "src/data/bpe_training/count_words.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "src/data/units/segment_reader.hpp"

namespace triax {
namespace {

/// Sums over threads.
struct ThreadSums {
  std::mutex mutex;
  CorpusCounts counts;

  void add(const CorpusCounts& more) {
    const std::scoped_lock lock(mutex);
    counts.documents += more.documents;
    counts.read.replaced += more.read.replaced;
    counts.read.invalid += more.read.invalid;
    counts.read.bad_lines += more.read.bad_lines;
  }
};

// Reads units in one thread, and counts their words.
class UnitCounter {
 public:
  UnitCounter(const CountJob& job, UnitCounters& counters, LocalWords words)
      : job_(job), counters_(counters), words_(std::move(words)) {}

  CorpusCounts count(const Unit& unit, const std::vector<bool>& left_out) {
    CorpusCounts counts;
    for (const Segment& segment : unit.segments) {
      const InputFile& file = job_.files[segment.file];
      if (left_out[segment.file]) {
        counters_.bytes += segment.range.end - segment.range.begin;
        continue;
      }
      const bool goes_on =
          read_segment({file, segment.range, job_.options.documents, job_.options.skip_bad},
                       counters_, counts.read, [&](const DocumentReader::Piece& piece, bool) {
                         add(piece.text);
                         counts.documents += piece.last ? 1 : 0;
                         return true;
                       });
      if (!goes_on) break;
    }
    words_.give();
    return counts;
  }

 private:
  void add(std::string_view text) {
    constexpr std::size_t batch = 1024;
    for (std::size_t begin = 0, at = 0; at < text.size(); words_.give_if_full()) {
      cuts_.clear();
      at = job_.splitter.split(text, at, batch, cuts_);
      for (const Cut& cut : cuts_) {
        words_.add(text.substr(begin, cut.end - begin), begin + 16 <= text.size());
        begin = cut.end;
      }
    }
  }

  const CountJob& job_;
  UnitCounters& counters_;
  LocalWords words_;
  std::vector<Cut> cuts_;
};

// Collective. Text files, each one document, that are to be left out as no UTF-8: known before the
// first words are counted, as several ranks share a long one.
std::vector<bool> files_left_out(const CountJob& job, const Ranks& ranks, CorpusCounts& counts) {
  std::vector<bool> left_out(job.files.size());
  if (job.options.documents.invalid != InvalidText::skip) return left_out;
  std::vector<std::uint64_t> invalid(job.files.size());
  std::mutex mutex;
  UnitCounters counters;
  const UnitWork look = [&](std::size_t unit) {
    for (const Segment& segment : job.units[unit].segments) {
      const InputFile& file = job.files[segment.file];
      if (file.format != DocumentFormat::text) continue;
      ReadCounts read;
      read_segment({file, segment.range, job.options.documents}, counters, read,
                   [](const DocumentReader::Piece& piece, bool) { return !piece.left_out; });
      const std::scoped_lock lock(mutex);
      invalid[segment.file] += read.invalid > 0 ? 1 : 0;
    }
  };
  work_on_units(
      ranks, job.options.workers, units_of_rank(job.units, ranks.rank, ranks.size, false), counters,
      [&](int) { return look; }, [](std::int64_t) {});
  sum_over_ranks(ranks, invalid);
  for (std::size_t f = 0; f < invalid.size(); ++f) left_out[f] = invalid[f] > 0;
  counts.read.invalid += std::ranges::count(left_out, true);
  return left_out;
}

}  // namespace

CorpusCounts count_words(const CountJob& job, const Ranks& ranks, SharedWords& words,
                         const UnitProgress& progress) {
  CorpusCounts all;
  const std::vector<bool> left_out = files_left_out(job, ranks, all);
  ThreadSums sums;
  UnitCounters counters;
  const auto make_work = [&](int thread) -> UnitWork {
    const auto share = words.partitions() / static_cast<std::size_t>(job.options.workers);
    const auto counter = std::make_shared<UnitCounter>(
        job, counters, LocalWords(words, share * static_cast<std::size_t>(thread)));
    return [&, counter](std::size_t unit) { sums.add(counter->count(job.units[unit], left_out)); };
  };
  work_on_units(ranks, job.options.workers, units_of_rank(job.units, ranks.rank, ranks.size, false),
                counters, make_work, progress);
  const CorpusCounts& own = sums.counts;
  std::array<std::uint64_t, 4> numbers = {
      static_cast<std::uint64_t>(own.documents), static_cast<std::uint64_t>(own.read.replaced),
      static_cast<std::uint64_t>(own.read.invalid), static_cast<std::uint64_t>(own.read.bad_lines)};
  sum_over_ranks(ranks, numbers);
  all.documents = static_cast<std::int64_t>(numbers[0]);
  all.read.replaced = static_cast<std::int64_t>(numbers[1]);
  all.read.invalid += static_cast<std::int64_t>(numbers[2]);
  all.read.bad_lines = static_cast<std::int64_t>(numbers[3]);
  return all;
}

}  // namespace triax
