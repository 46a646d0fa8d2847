// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/write/segment_exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/base/check.hpp"

namespace triax {
namespace {

// Share number `step` of `steps` equal shares of each owner's segments. `segments`: sorted by
// owner.
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

}  // namespace

// Must be called for ranks 0, 1, ... in order.
void SegmentExchange::Layout::set(std::size_t rank, std::int64_t count) {
  if (rank == 0) total = 0;
  places[rank] = static_cast<int>(total);
  counts[rank] = static_cast<int>(count);
  total += static_cast<std::size_t>(count);
}

SegmentExchange::Messages::Messages(std::size_t ranks, std::int64_t weight, std::size_t room)
    : packed(std::make_unique_for_overwrite<std::byte[]>(room)),
      received(std::make_unique_for_overwrite<std::byte[]>(room)),
      // A step cuts at most one segment per destination and one per source rank.
      most(static_cast<std::size_t>(weight / beside) + ranks),
      told(std::make_unique_for_overwrite<Description[]>(most)),
      heard(std::make_unique_for_overwrite<Description[]>(most)),
      out(ranks),
      in(ranks) {
  for (Layout* const layout : {&telling, &hearing, &sending, &receiving}) {
    layout->counts.resize(ranks);
    layout->places.resize(ranks);
  }
}

SegmentExchange::SegmentExchange(const Ranks& ranks, std::int64_t weight)
    : ranks_(ranks),
      weight_(weight),
      room_(static_cast<std::size_t>(weight + ranks.size)),
      sharing_(std::make_unique<SegmentSharing>(ranks, weight)),
      staging_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(weight))),
      messages_(std::make_unique<Messages>(static_cast<std::size_t>(ranks.size), weight, room_)) {}

void SegmentExchange::meet(bool willing) {
  shares_ = sharing_->meet(willing);
  if (!shares_) return sharing_.reset();
  staging_.reset();
  messages_.reset();
}

void SegmentExchange::check_weight(std::span<const OwnedSegment> segments) const {
  std::int64_t out = 0;
  for (const auto& [owner, segment] : segments)
    if (owner != ranks_.rank) out += weight(segment);
  check(out <= weight_, "{} bytes for other ranks where {} are taken", out, weight_);
}

// Sorts segments by owner (counting sort), then by file and offset. Each owner's segments are
// mostly sorted already, so few comparisons are made.
void SegmentExchange::order(std::vector<OwnedSegment>& segments) {
  std::vector<std::size_t> begin(static_cast<std::size_t>(ranks_.size) + 1);
  for (const OwnedSegment& one : segments) ++begin[static_cast<std::size_t>(one.owner) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  ordered_.resize(segments.size());
  std::vector<std::size_t> next = begin;
  for (const OwnedSegment& one : segments)
    ordered_[next[static_cast<std::size_t>(one.owner)]++] = one;
  for (std::size_t owner = 0; owner + 1 < begin.size(); ++owner) {
    const auto its = std::span(ordered_).subspan(begin[owner], begin[owner + 1] - begin[owner]);
    if (!std::ranges::is_sorted(its, before_in_file, &OwnedSegment::segment))
      std::ranges::sort(its, before_in_file, &OwnedSegment::segment);
  }
  segments.swap(ordered_);
}

SegmentExchange::Outcome SegmentExchange::run(std::vector<OwnedSegment>& segments, bool more,
                                              const Take& take) {
  FirstFailure failure;
  failure.of([&] {
    check_weight(segments);
    order(segments);
  });
  if (failure.met()) segments.clear();
  if (!shares_) {
    const bool any_more = exchange(segments, more, take, failure);
    return {any_more, failure.first()};
  }
  Outcome outcome = sharing_->run(segments, more, take);
  failure.keep(outcome.failure);
  return {outcome.any_more, failure.first()};
}

// Counts the bytes and segments to each rank and exchanges the counts.
void SegmentExchange::count(std::span<const OwnedSegment> segments) {
  std::ranges::fill(messages_->out, Counts{});
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) continue;
    Counts& of_owner = messages_->out[static_cast<std::size_t>(owner)];
    of_owner.bytes += segment.bytes;
    ++of_owner.segments;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ialltoall(messages_->out.data(), 2, MPI_INT64_T, messages_->in.data(), 2,
                          MPI_INT64_T, ranks_.comm, &request),
            "MPI_Ialltoall", file_ranks);
  wait_yielding(request);
}

// Exchanges by messages, in as many steps as the busiest rank needs. Returns whether any rank has
// more.
bool SegmentExchange::exchange(std::span<const OwnedSegment> segments, bool more, const Take& take,
                               FirstFailure& failure) {
  const WaitScope waiting(ranks_.watch);
  count(segments);
  std::array<std::int64_t, 2> most = {0, more ? 1 : 0};
  for (const Counts& counts : messages_->in) most[0] += counts.bytes + beside * counts.segments;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(
      MPI_Iallreduce(MPI_IN_PLACE, most.data(), 2, MPI_INT64_T, MPI_MAX, ranks_.comm, &request),
      "MPI_Iallreduce", file_ranks);
  wait_yielding(request);
  const std::int64_t steps = std::max<std::int64_t>(1, (most[0] + weight_ - 1) / weight_);
  if (steps == 1) step(segments, take, failure);
  for (std::int64_t i = 0; i < steps && steps > 1; ++i) {
    std::vector<OwnedSegment> share;
    failure.of([&] { share = share_of(segments, i, steps); });
    count(share);
    step(share, take, failure);
  }
  return most[1] > 0;
}

// Exchanges the segments that count() has counted. `segments`: sorted by owner.
void SegmentExchange::step(std::span<const OwnedSegment> segments, const Take& take,
                           FirstFailure& failure) {
  Messages& m = *messages_;
  constexpr auto width = std::int64_t{sizeof(Description)};
  for (std::size_t rank = 0; rank < m.out.size(); ++rank) {
    m.sending.set(rank, m.out[rank].bytes);
    m.receiving.set(rank, m.in[rank].bytes);
    m.telling.set(rank, m.out[rank].segments * width);
    m.hearing.set(rank, m.in[rank].segments * width);
  }
  const std::size_t told = m.telling.total / sizeof(Description);
  const std::size_t heard = m.hearing.total / sizeof(Description);
  check(std::max(m.sending.total, m.receiving.total) <= room_ && std::max(told, heard) <= m.most,
        "{} bytes in {} pieces are sent and {} in {} received, {} in {} expected", m.sending.total,
        told, m.receiving.total, heard, room_, m.most);
  pack(segments);
  const auto start = [&](const void* from, const Layout& sending, void* to, const Layout& receiving,
                         MPI_Request& request) {
    check_mpi(MPI_Ialltoallv(from, sending.counts.data(), sending.places.data(), MPI_BYTE, to,
                             receiving.counts.data(), receiving.places.data(), MPI_BYTE,
                             ranks_.comm, &request),
              "MPI_Ialltoallv", file_ranks);
  };
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  start(m.told.get(), m.telling, m.heard.get(), m.hearing, requests[0]);
  start(m.packed.get(), m.sending, m.received.get(), m.receiving, requests[1]);
  for (MPI_Request& request : requests) wait_yielding(request);
  failure.of([&] {
    collect(segments, heard);
    take(to_write_);
  });
}

// Copies the segments into one buffer: an MPI datatype would take several times as long.
void SegmentExchange::pack(std::span<const OwnedSegment> segments) {
  std::byte* packed = messages_->packed.get();
  Description* told = messages_->told.get();
  for (const auto& [owner, segment] : segments) {
    if (owner == ranks_.rank) continue;
    *told++ = {static_cast<std::int64_t>(segment.file), segment.offset, segment.bytes};
    std::memcpy(packed, segment.memory, static_cast<std::size_t>(segment.bytes));
    packed += segment.bytes;
  }
}

// Collects the segments that this rank writes: its own and the `heard` received ones.
void SegmentExchange::collect(std::span<const OwnedSegment> segments, std::size_t heard) {
  to_write_.clear();
  for (const auto& [owner, segment] : segments)
    if (owner == ranks_.rank) to_write_.push_back(segment);
  const std::byte* memory = messages_->received.get();
  for (const auto& [file, offset, bytes] : std::span(messages_->heard.get(), heard)) {
    to_write_.push_back({static_cast<std::size_t>(file), offset, bytes, memory});
    memory += bytes;
  }
  std::ranges::sort(to_write_, before_in_file);
}

}  // namespace triax
