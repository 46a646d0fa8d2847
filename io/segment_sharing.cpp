#include "io/segment_sharing.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <tuple>

#include "kernels/base/check.hpp"

namespace triax {

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

// The part has first what is known of the segments, then their bytes.
std::vector<SegmentSharing::Told> SegmentSharing::pack(std::span<const OwnedSegment> segments,
                                                       std::vector<DataSegment>& own) {
  std::vector<Told> told(others_.size());
  for (const auto& [owner, segment] : segments)
    if (owner != ranks_.rank) ++told[static_cast<std::size_t>(owner)].count;
  std::int64_t number = 0;
  for (Told& one : told) {
    one.first = number;
    number += one.count;
  }
  std::byte* const part = mine_.data() + part_;
  auto* packed = reinterpret_cast<Packed*>(part);
  std::int64_t at = number * beside;
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) {
      own.push_back(segment);
      continue;
    }
    check(at + segment.bytes <= bytes_, "{} bytes of segments in a part of {}", at + segment.bytes,
          bytes_);
    std::memcpy(part + at, segment.memory, static_cast<std::size_t>(segment.bytes));
    *packed++ = {static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes, at};
    at += segment.bytes;
  }
  return told;
}

bool SegmentSharing::run(std::span<const OwnedSegment> segments, bool more, const Take& take) {
  // Who packs into a part has heard of all that they came to the run after the part's last one.
  part_ = part_ == 0 ? bytes_ : 0;
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
  for (std::size_t rank = 0; rank < heard.size(); ++rank) {
    any = any || heard[rank].more != 0;
    if (static_cast<int>(rank) == ranks_.rank) continue;
    const std::byte* const part = others_[rank].data() + part_;
    const auto* const packed = reinterpret_cast<const Packed*>(part) + heard[rank].first;
    for (const auto& [file, offset, bytes, at] :
         std::span(packed, static_cast<std::size_t>(heard[rank].count)))
      to_write.push_back({static_cast<std::size_t>(file), offset, bytes, part + at});
  }
  std::ranges::sort(to_write, [](const DataSegment& a, const DataSegment& b) {
    return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
  });
  take(to_write);
  return any;
}

}  // namespace triax
