#include "io/segment_sharing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// One list of several that lie one behind another, each in the file's order.
void merge(std::vector<DataSegment>& lists, std::vector<std::size_t> ends) {
  const auto at = [&](std::size_t i) { return lists.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t begin = 0;
    for (std::size_t i = 1; i < ends.size(); i += 2) {
      std::inplace_merge(at(begin), at(ends[i - 1]), at(ends[i]), before);
      merged.push_back(begin = ends[i]);
    }
    if (ends.size() % 2 == 1) merged.push_back(ends.back());
    ends = std::move(merged);
  }
}

}  // namespace

std::unique_ptr<SegmentSharing> SegmentSharing::make(const Ranks& ranks, std::int64_t bytes) {
  constexpr std::int64_t line = 64;
  std::unique_ptr<SegmentSharing> made(new SegmentSharing(ranks, (bytes + line - 1) / line * line));
  return made->meet() ? std::move(made) : nullptr;
}

// Whether all ranks are of one home. Asked before memory is made, which would be of no use.
bool SegmentSharing::same_home() const {
  const SharedMemory::Home own = SharedMemory::home();
  const std::vector<std::int64_t> all = gather_over_ranks(ranks_, own);
  for (std::size_t at = 0; at < all.size(); at += own.size())
    if (!std::equal(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(at)))
      return false;
  return true;
}

// Whether every rank could open every other's memory.
bool SegmentSharing::meet() {
  if (!same_home()) return false;
  const auto bytes = static_cast<std::size_t>(2 * bytes_);
  mine_ = SharedMemory::make("triax-save", bytes);
  const std::vector<std::int64_t> names = gather_over_ranks(ranks_, mine_.name());
  const auto name_of_rank = [&](std::size_t rank) {
    SharedMemory::Name name{};
    std::copy_n(&names[rank * name.size()], name.size(), name.begin());
    return name;
  };
  others_.resize(static_cast<std::size_t>(ranks_.size));
  const auto own = static_cast<std::size_t>(ranks_.rank);
  bool all = mine_.data() != nullptr;
  for (std::size_t rank = 0; rank < others_.size() && all; ++rank) {
    if (rank == own) continue;
    others_[rank] = SharedMemory::open(name_of_rank(rank), bytes);
    all = others_[rank].data() != nullptr;
  }
  std::uint64_t refused = all ? 0 : 1;
  sum_over_ranks(ranks_, std::span(&refused, 1));
  mine_.close_to_others();
  return refused == 0;
}

std::vector<SegmentSharing::Told> SegmentSharing::pack(std::span<const OwnedSegment> segments,
                                                       std::vector<DataSegment>& own) {
  std::vector<Told> told(others_.size());
  for (const auto& [owner, segment] : segments)
    if (owner != ranks_.rank) ++told[static_cast<std::size_t>(owner)].count;
  std::int64_t all = 0;
  for (Told& one : told) one.first = std::exchange(all, all + one.count);
  for (Told& one : told) one.of = all;
  std::byte* const part = staging();
  const std::span room(part, static_cast<std::size_t>(bytes_ - all * beside));
  Packed* next = packed(mine_, all);
  std::int64_t used = 0;
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) {
      own.push_back(segment);
      continue;
    }
    std::int64_t at = segment.memory - part;
    if (std::less<>()(segment.memory, part) || at >= bytes_) {
      at = std::exchange(used, used + segment.bytes);
      check(used <= std::ssize(room), "{} bytes of segments in {}", used, room.size());
      std::memcpy(part + at, segment.memory, static_cast<std::size_t>(segment.bytes));
    }
    check(at + segment.bytes <= std::ssize(room), "a segment at {} of {} bytes", at, room.size());
    *next++ = {static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes, at};
  }
  return told;
}

// What another rank has for this one.
void SegmentSharing::collect(int rank, const Told& heard,
                             std::vector<DataSegment>& to_write) const {
  const SharedMemory& memory = others_[static_cast<std::size_t>(rank)];
  const Packed* const first = packed(memory, heard.of) + heard.first;
  for (const auto& [file, offset, bytes, at] :
       std::span(first, static_cast<std::size_t>(heard.count)))
    to_write.push_back({static_cast<std::size_t>(file), offset, bytes, memory.data() + part_ + at});
}

bool SegmentSharing::run(std::span<const OwnedSegment> segments, bool more, const Take& take) {
  std::vector<DataSegment> to_write;
  std::vector<Told> told = pack(segments, to_write);
  for (Told& one : told) one.more = more ? 1 : 0;
  std::vector<Told> heard(told.size());
  constexpr int words = sizeof(Told) / sizeof(std::int64_t);
  {
    const WaitScope waiting(ranks_.watch);
    std::atomic_thread_fence(std::memory_order_release);
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(MPI_Ialltoall(told.data(), words, MPI_INT64_T, heard.data(), words, MPI_INT64_T,
                              ranks_.comm, &request));
    wait_yielding(request);
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  bool any = more;
  std::vector<std::size_t> ends = {to_write.size()};  // of each rank's, all in the file's order
  for (int rank = 0; rank < ranks_.size; ++rank) {
    const Told& one = heard[static_cast<std::size_t>(rank)];
    any = any || one.more != 0;
    if (rank == ranks_.rank) continue;
    collect(rank, one, to_write);
    ends.push_back(to_write.size());
  }
  merge(to_write, std::move(ends));
  take(to_write);
  // All have come to this run, and so have written what was in the other part.
  part_ = part_ == 0 ? bytes_ : 0;
  return any;
}

}  // namespace triax
