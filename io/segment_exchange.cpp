#include "io/segment_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// What is told of a segment to who writes it.
struct Description {
  std::int64_t file, offset, bytes;
};

// Share `step` of `steps` of what goes to each owner. `segments`: by owner.
std::vector<OwnedSegment> share_of(std::span<const OwnedSegment> segments, std::int64_t step,
                                   std::int64_t steps) {
  std::vector<OwnedSegment> share;
  for (std::size_t begin = 0, end = 0; begin < segments.size(); begin = end) {
    std::int64_t whole = 0;
    for (; end < segments.size() && segments[end].owner == segments[begin].owner; ++end)
      whole += SegmentExchange::weight(segments[end].segment);
    const std::int64_t first = whole * step / steps;
    const std::int64_t last = whole * (step + 1) / steps;
    std::int64_t at = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto& [owner, segment] = segments[i];
      const std::int64_t from = std::clamp<std::int64_t>(first - at, 0, segment.bytes);
      const std::int64_t to = std::clamp<std::int64_t>(last - at, 0, segment.bytes);
      if (from < to)
        share.push_back(
            {owner, {segment.file, segment.offset + from, to - from, segment.memory + from}});
      at += SegmentExchange::weight(segment);
    }
  }
  return share;
}

// Counts of a collective operation, and the places that follow from them.
struct Layout {
  std::vector<int> counts, places;
  void add(std::int64_t count) {
    places.push_back(counts.empty() ? 0 : places.back() + counts.back());
    counts.push_back(static_cast<int>(count));
  }
  std::size_t total() const { return static_cast<std::size_t>(places.back() + counts.back()); }
};

int start(const void* from, const Layout& sending, void* to, const Layout& receiving, MPI_Comm comm,
          MPI_Request& request) {
  return MPI_Ialltoallv(from, sending.counts.data(), sending.places.data(), MPI_BYTE, to,
                        receiving.counts.data(), receiving.places.data(), MPI_BYTE, comm, &request);
}

}  // namespace

SegmentExchange::SegmentExchange(const Ranks& ranks, std::int64_t weight, bool share)
    : ranks_(ranks),
      weight_(weight),
      room_(static_cast<std::size_t>(weight + ranks.size)),
      ask_(share),
      staging_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(weight))),
      packed_(std::make_unique_for_overwrite<std::byte[]>(room_)),
      received_(std::make_unique_for_overwrite<std::byte[]>(room_)) {}

std::vector<SegmentExchange::Counts> SegmentExchange::sent(
    std::span<const OwnedSegment> segments) const {
  std::vector<Counts> counts(static_cast<std::size_t>(ranks_.size));
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) continue;
    Counts& of_owner = counts[static_cast<std::size_t>(owner)];
    of_owner.bytes += segment.bytes;
    ++of_owner.segments;
  }
  return counts;
}

std::vector<SegmentExchange::Counts> SegmentExchange::received(
    const std::vector<Counts>& sent) const {
  std::vector<Counts> counts(sent.size());
  MPI_Request request = MPI_REQUEST_NULL;
  require_mpi(MPI_Ialltoall(sent.data(), 2, MPI_INT64_T, counts.data(), 2, MPI_INT64_T, ranks_.comm,
                            &request));
  wait_yielding(request);
  return counts;
}

// By owner, and each one's as the file has them, which is how they mostly come: there is little to
// compare.
void SegmentExchange::order(std::vector<OwnedSegment>& segments) {
  std::vector<std::size_t> end(static_cast<std::size_t>(ranks_.size) + 1);
  for (const OwnedSegment& one : segments) ++end[static_cast<std::size_t>(one.owner) + 1];
  std::partial_sum(end.begin(), end.end(), end.begin());
  ordered_.resize(segments.size());
  std::vector<std::size_t> next(end.begin(), end.end() - 1);
  for (const OwnedSegment& one : segments)
    ordered_[next[static_cast<std::size_t>(one.owner)]++] = one;
  for (std::size_t owner = 0; owner + 1 < end.size(); ++owner) {
    const auto own = std::span(ordered_).subspan(end[owner], end[owner + 1] - end[owner]);
    if (!std::ranges::is_sorted(own, before, &OwnedSegment::segment))
      std::ranges::sort(own, before, &OwnedSegment::segment);
  }
  segments.swap(ordered_);
}

bool SegmentExchange::run(std::vector<OwnedSegment>& segments, bool more, const Take& take) {
  order(segments);
  if (sharing_) return sharing_->run(segments, more, take);
  const bool any = exchange(segments, more, take);
  if (sharing_)
    for (auto* const memory : {&staging_, &packed_, &received_}) memory->reset();
  return any;
}

// In messages, until all have been found to share memory.
bool SegmentExchange::exchange(std::vector<OwnedSegment>& segments, bool more, const Take& take) {
  const std::vector<Counts> out = sent(segments);
  std::vector<Counts> in;
  std::array<std::int64_t, 2> most = {0, more ? 1 : 0};
  {
    const WaitScope waiting(ranks_.watch);
    in = received(out);
    for (const Counts& counts : in) most[0] += counts.bytes + beside * counts.segments;
    MPI_Request request = MPI_REQUEST_NULL;
    require_mpi(
        MPI_Iallreduce(MPI_IN_PLACE, most.data(), 2, MPI_INT64_T, MPI_MAX, ranks_.comm, &request));
    wait_yielding(request);
  }
  if (most[0] > 0 && std::exchange(ask_, false)) {
    sharing_ = SegmentSharing::make(ranks_, weight_);
    if (sharing_) return sharing_->run(segments, more, take);
  }
  const WaitScope waiting(ranks_.watch);
  const std::int64_t steps = std::max<std::int64_t>(1, (most[0] + weight_ - 1) / weight_);
  if (steps == 1) step(segments, out, in, take);
  for (std::int64_t i = 0; i < steps && steps > 1; ++i) {
    const std::vector<OwnedSegment> share = share_of(segments, i, steps);
    const std::vector<Counts> share_out = sent(share);
    step(share, share_out, received(share_out), take);
  }
  return most[1] > 0;
}

// `segments`: by owner.
void SegmentExchange::step(std::span<const OwnedSegment> segments, const std::vector<Counts>& out,
                           const std::vector<Counts>& in, const Take& take) {
  std::vector<DataSegment> to_write;
  std::vector<Description> told;
  std::byte* packed = packed_.get();  // MPI takes several times as long to gather them itself
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) {
      to_write.push_back(segment);
      continue;
    }
    told.push_back({static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes});
    std::memcpy(packed, segment.memory, static_cast<std::size_t>(segment.bytes));
    packed += segment.bytes;
  }
  Layout telling, hearing, sending, receiving;
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    sending.add(out[rank].bytes);
    receiving.add(in[rank].bytes);
    telling.add(out[rank].segments * std::int64_t{sizeof(Description)});
    hearing.add(in[rank].segments * std::int64_t{sizeof(Description)});
  }
  check(sending.total() <= room_ && receiving.total() <= room_,
        "{} bytes are sent and {} received, {} expected", sending.total(), receiving.total(),
        room_);
  std::vector<Description> heard(hearing.total() / sizeof(Description));
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  require_mpi(start(told.data(), telling, heard.data(), hearing, ranks_.comm, requests[0]));
  require_mpi(start(packed_.get(), sending, received_.get(), receiving, ranks_.comm, requests[1]));
  for (MPI_Request& request : requests) wait_yielding(request);
  const std::byte* memory = received_.get();
  for (const auto& [file, offset, bytes] : heard) {
    to_write.push_back({static_cast<std::size_t>(file), offset, bytes, memory});
    memory += bytes;
  }
  std::ranges::sort(to_write, before);
  take(to_write);
}

}  // namespace triax
