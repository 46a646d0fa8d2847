#include "io/segment_exchange.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace triax {
namespace {

// What is told of a segment to who writes it.
struct Description {
  std::int64_t file, offset, bytes;
};

bool before(const DataSegment& a, const DataSegment& b) {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

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

// Segments in memory as one MPI type; its addresses are absolute.
class MemoryType {
 public:
  explicit MemoryType(std::span<const OwnedSegment> segments) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> addresses;
    for (const OwnedSegment& owned : segments) {
      lengths.push_back(static_cast<int>(owned.segment.bytes));
      MPI_Get_address(owned.segment.memory, &addresses.emplace_back());
    }
    require_mpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(),
                                         addresses.data(), MPI_BYTE, &type_));
    require_mpi(MPI_Type_commit(&type_));
  }
  ~MemoryType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  MemoryType(MemoryType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  MemoryType& operator=(MemoryType&&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// Counts of a collective operation, and the places that follow from them.
struct Layout {
  std::vector<int> counts, places;
  void add(std::int64_t count) {
    places.push_back(counts.empty() ? 0 : places.back() + counts.back());
    counts.push_back(static_cast<int>(count));
  }
  std::size_t total() const { return static_cast<std::size_t>(places.back() + counts.back()); }
};

}  // namespace

SegmentExchange::SegmentExchange(const Ranks& ranks, std::int64_t weight)
    : ranks_(ranks), weight_(weight), memory_(static_cast<std::size_t>(weight + ranks.size)) {}

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

bool SegmentExchange::run(std::vector<OwnedSegment>& segments, bool more, const Take& take) {
  std::ranges::sort(segments, [](const OwnedSegment& a, const OwnedSegment& b) {
    return a.owner != b.owner ? a.owner < b.owner : before(a.segment, b.segment);
  });
  const WaitScope waiting(ranks_.watch);
  const std::vector<Counts> out = sent(segments);
  const std::vector<Counts> in = received(out);
  std::array<std::int64_t, 2> most = {0, more ? 1 : 0};
  for (const Counts& counts : in) most[0] += counts.bytes + beside * counts.segments;
  MPI_Request request = MPI_REQUEST_NULL;
  require_mpi(
      MPI_Iallreduce(MPI_IN_PLACE, most.data(), 2, MPI_INT64_T, MPI_MAX, ranks_.comm, &request));
  wait_yielding(request);
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
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank)
      to_write.push_back(segment);
    else
      told.push_back({static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes});
  }
  Layout telling, hearing, sending, receiving;
  std::vector<MPI_Datatype> types_out, bytes_in;
  std::vector<MemoryType> types;
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    while (at < segments.size() && segments[at].owner < static_cast<int>(rank)) ++at;
    const auto count = static_cast<std::size_t>(out[rank].segments);
    if (count > 0) types.emplace_back(segments.subspan(at, count));
    types_out.push_back(count > 0 ? types.back().get() : MPI_BYTE);
    bytes_in.push_back(MPI_BYTE);
    sending.add(count > 0 ? 1 : 0);
    receiving.add(in[rank].bytes);
    telling.add(out[rank].segments * std::int64_t{sizeof(Description)});
    hearing.add(in[rank].segments * std::int64_t{sizeof(Description)});
  }
  const std::vector<int> absolute(out.size(), 0);
  std::vector<Description> heard(hearing.total() / sizeof(Description));
  check(receiving.total() <= memory_.bytes(), "{} bytes are received, {} expected",
        receiving.total(), memory_.bytes());
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  require_mpi(MPI_Ialltoallv(told.data(), telling.counts.data(), telling.places.data(), MPI_BYTE,
                             heard.data(), hearing.counts.data(), hearing.places.data(), MPI_BYTE,
                             ranks_.comm, requests.data()));
  require_mpi(MPI_Ialltoallw(MPI_BOTTOM, sending.counts.data(), absolute.data(), types_out.data(),
                             memory_.data(), receiving.counts.data(), receiving.places.data(),
                             bytes_in.data(), ranks_.comm, &requests[1]));
  for (MPI_Request& request : requests) wait_yielding(request);
  const auto* memory = static_cast<const std::byte*>(memory_.data());
  for (const auto& [file, offset, bytes] : heard) {
    to_write.push_back({static_cast<std::size_t>(file), offset, bytes, memory});
    memory += bytes;
  }
  std::ranges::sort(to_write, before);
  take(to_write);
}

}  // namespace triax
