// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends file segments to the ranks that write them. Internal to io/.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "io/checkpoint/write/segment_sharing.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/mpi/first_failure.hpp"

namespace triax {

class SegmentExchange {
 public:
  /// `weight`: weight of segments that a rank sends or receives per step. The buffers have one byte
  /// per rank more.
  SegmentExchange(const Ranks& ranks, std::int64_t weight);
  /// Collective, before the first run(): uses shared memory if all ranks can read each other's
  /// memory and all are `willing`. Otherwise, or without this call, data go by messages.
  void meet(bool willing = true);

  /// Weight of a segment: its bytes, and bookkeeping on both sides.
  static std::int64_t weight(const DataSegment& segment) { return segment.bytes + beside; }

  /// Staging memory for the segments of the next run(): the weight less `beside` per segment. With
  /// shared memory, run() switches between two staging buffers.
  std::byte* staging() const { return shares_ ? sharing_->staging() : staging_.get(); }
  /// Whether other ranks read the staging memory. Then the segments for other ranks must lie either
  /// all in staging(), or all outside it; run() copies them only in the second case.
  bool shares() const { return shares_; }

  using Take = SegmentSharing::Take;
  using Outcome = SegmentSharing::Outcome;
  /// Collective. Calls `take` with the segments that this rank writes, its own and those of other
  /// ranks, sorted by file and offset; their memory is valid until `take` returns. Where a rank
  /// receives more than the weight, all ranks send equal shares in several steps. Ranks with shared
  /// memory need neither steps nor data messages. `more`: this rank needs another run(). Waiting
  /// yields the core. A failure on one rank, also in `take`, is in its outcome, and the others go
  /// on; the segments it had, or that others had for it, are then not written.
  Outcome run(std::vector<OwnedSegment>& segments, bool more, const Take& take);

 private:
  static constexpr std::int64_t beside = 64;
  static_assert(beside >= SegmentSharing::beside);
  /// Counts of one rank's segments for another rank.
  struct Counts {
    std::int64_t bytes = 0, segments = 0;
  };
  /// Description of a segment, sent to its writer.
  struct Description {
    std::int64_t file, offset, bytes;
  };
  /// Counts and displacements of an MPI_Ialltoallv.
  struct Layout {
    std::vector<int> counts, places;
    std::size_t total = 0;
    void set(std::size_t rank, std::int64_t count);
  };
  /// Message buffers, allocated up front: a rank that runs out of memory during the exchange would
  /// hang the others.
  struct Messages {
    Messages(std::size_t ranks, std::int64_t weight, std::size_t room);
    std::unique_ptr<std::byte[]> packed, received;
    std::size_t most;  // capacity of told and heard
    std::unique_ptr<Description[]> told, heard;
    std::vector<Counts> out, in;
    Layout telling, hearing, sending, receiving;
  };
  void check_weight(std::span<const OwnedSegment> segments) const;
  void order(std::vector<OwnedSegment>& segments);
  bool exchange(std::span<const OwnedSegment> segments, bool more, const Take& take,
                FirstFailure& failure);
  void count(std::span<const OwnedSegment> segments);
  void step(std::span<const OwnedSegment> segments, const Take& take, FirstFailure& failure);
  void pack(std::span<const OwnedSegment> segments);
  void collect(std::span<const OwnedSegment> segments, std::size_t heard);

  Ranks ranks_;
  std::int64_t weight_;
  std::size_t room_;
  bool shares_ = false;
  std::unique_ptr<SegmentSharing> sharing_;  // until meet() finds that ranks do not share
  std::unique_ptr<std::byte[]> staging_;     // until meet() finds that ranks share, as messages_
  std::unique_ptr<Messages> messages_;
  std::vector<OwnedSegment> ordered_;
  std::vector<DataSegment> to_write_;
};

}  // namespace triax
