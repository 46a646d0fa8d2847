// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/write/segment_sharing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "kernels/base/check.hpp"
#include "kernels/base/mpi/first_failure.hpp"

namespace triax {
namespace {

constexpr std::int64_t line = 64;

// Merges consecutive sorted lists, which end at `ends`, into one.
void merge(std::vector<DataSegment>& lists, std::vector<std::size_t> ends) {
  const auto at = [&](std::size_t i) { return lists.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t begin = 0;
    for (std::size_t i = 1; i < ends.size(); i += 2) {
      std::inplace_merge(at(begin), at(ends[i - 1]), at(ends[i]), before_in_file);
      merged.push_back(begin = ends[i]);
    }
    if (ends.size() % 2 == 1) merged.push_back(ends.back());
    ends = std::move(merged);
  }
}

}  // namespace

SegmentSharing::SegmentSharing(const Ranks& ranks, std::int64_t bytes)
    : ranks_(ranks),
      bytes_((bytes + line - 1) / line * line),
      others_(static_cast<std::size_t>(ranks.size)),
      sent_(others_.size()),
      received_(others_.size()) {}

// Whether all ranks have the same SharedMemory::Home. Checked before memory is allocated.
bool SegmentSharing::same_home(const SharedMemory::Home& own) const {
  const std::vector<std::int64_t> all = gather_over_ranks(ranks_, own);
  for (std::size_t at = 0; at < all.size(); at += own.size())
    if (!std::equal(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(at)))
      return false;
  return true;
}

// `names`: SharedMemory::Name of each rank, by rank.
bool SegmentSharing::open_others(std::span<const std::int64_t> names) {
  if (mine_.data() == nullptr) return false;
  for (std::size_t rank = 0; rank < others_.size(); ++rank) {
    if (static_cast<int>(rank) == ranks_.rank) continue;
    SharedMemory::Name name{};
    std::copy_n(&names[rank * name.size()], name.size(), name.begin());
    others_[rank] = SharedMemory::open(name, static_cast<std::size_t>(2 * bytes_));
    if (others_[rank].data() == nullptr) return false;
  }
  return true;
}

// A failure on one rank is a refusal for all.
bool SegmentSharing::meet(bool willing) {
  FirstFailure failure;
  SharedMemory::Home home{};
  failure.of([&] { home = SharedMemory::home(); });
  if (!same_home(home)) return false;
  failure.of([&] {
    if (willing) mine_ = SharedMemory::make("triax-save", static_cast<std::size_t>(2 * bytes_));
  });
  const std::vector<std::int64_t> names = gather_over_ranks(ranks_, mine_.name());
  bool all = false;
  failure.of([&] { all = open_others(names); });
  std::uint64_t refused = all && !failure.met() ? 0 : 1;
  sum_over_ranks(ranks_, std::span(&refused, 1));
  mine_.close_to_others();
  return refused == 0;
}

bool SegmentSharing::is_staged(const DataSegment& segment) const {
  return !std::less<>()(segment.memory, staging()) &&
         std::less<>()(segment.memory, staging() + bytes_);
}

// Lists the segments for other ranks, and copies them to staging unless they lie there already.
void SegmentSharing::list(std::span<const OwnedSegment> segments) {
  std::ranges::fill(sent_, SegmentList{});
  for (const auto& [owner, segment] : segments)
    if (owner != ranks_.rank) ++sent_[static_cast<std::size_t>(owner)].count;
  std::int64_t length = 0;
  for (SegmentList& one : sent_) one.first = std::exchange(length, length + one.count);
  for (SegmentList& one : sent_) one.length = length;
  const std::int64_t room = bytes_ - length * beside;
  check(room >= 0, "{} segments in a part of {} bytes", length, bytes_);
  const bool staged = std::ranges::any_of(
      segments, [&](const OwnedSegment& one) { return is_staged(one.segment); });
  auto next = listed(mine_, part_, length).begin();
  std::int64_t used = 0;
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) continue;
    const std::int64_t at = staged ? segment.memory - staging() : used;
    check(at >= 0 && at + segment.bytes <= room, "a segment of {} bytes at {} of {}", segment.bytes,
          at, room);
    if (!staged)
      std::memcpy(staging() + at, segment.memory, static_cast<std::size_t>(segment.bytes));
    used += segment.bytes;
    *next++ = {static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes, at};
  }
}

// Collects the segments that this rank writes: its own, and those in the other ranks' buffers at
// `part`.
void SegmentSharing::collect(std::int64_t part, std::span<const OwnedSegment> segments) {
  to_write_.clear();
  for (const auto& [owner, segment] : segments)
    if (owner == ranks_.rank) to_write_.push_back(segment);
  std::vector<std::size_t> ends = {to_write_.size()};  // of each rank's list
  for (std::size_t rank = 0; rank < received_.size(); ++rank) {
    if (static_cast<int>(rank) == ranks_.rank) continue;
    const SegmentList& one = received_[rank];
    const SharedMemory& memory = others_[rank];
    for (const auto& [file, offset, bytes, at] :
         listed(memory, part, one.length)
             .subspan(static_cast<std::size_t>(one.first), static_cast<std::size_t>(one.count)))
      to_write_.push_back(
          {static_cast<std::size_t>(file), offset, bytes, memory.data() + part + at});
    ends.push_back(to_write_.size());
  }
  merge(to_write_, std::move(ends));
}

// A rank that fails sends no segments, or does not write those of the others, but still joins the
// collective call.
SegmentSharing::Outcome SegmentSharing::run(std::span<const OwnedSegment> segments, bool more,
                                            const Take& take) {
  FirstFailure failure;
  failure.of([&] { list(segments); });
  if (failure.met()) std::ranges::fill(sent_, SegmentList{});
  for (SegmentList& one : sent_) one.more = more ? 1 : 0;
  std::atomic_thread_fence(std::memory_order_release);
  {
    const WaitScope waiting(ranks_.watch);
    constexpr int words = sizeof(SegmentList) / sizeof(std::int64_t);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ialltoall(sent_.data(), words, MPI_INT64_T, received_.data(), words, MPI_INT64_T,
                            ranks_.comm, &request),
              "MPI_Ialltoall", file_ranks);
    wait_yielding(request);
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  // All ranks have entered this run(), so their `take` of the previous run() has returned: the
  // buffer that they read then is free.
  const std::int64_t part = std::exchange(part_, part_ == 0 ? bytes_ : 0);
  failure.of([&] {
    collect(part, segments);
    take(to_write_);
  });
  const bool any_more =
      std::ranges::any_of(received_, [](const SegmentList& one) { return one.more != 0; });
  return {any_more, failure.first()};
}

}  // namespace triax
