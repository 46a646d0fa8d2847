#pragma once
// Brings pieces of files to the ranks that write them. Internal to io/.
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
  /// What a rank takes at a time: so much weight, and as many bytes more as there are ranks.
  SegmentExchange(const Ranks& ranks, std::int64_t weight);
  /// Collective, before the first run: finds out whether all ranks can read each other's memory,
  /// and all are `willing`. Where not, or where they were not asked, all goes in messages.
  void meet(bool willing = true);

  /// Of a segment: its bytes, and what is kept beside them on both sides.
  static std::int64_t weight(const DataSegment& segment) { return segment.bytes + beside; }

  /// Memory for copies of what the next run is handed, another in each run where ranks share
  /// memory: of the weight less `beside` for each segment.
  std::byte* staging() const { return shares_ ? sharing_->staging() : staging_.get(); }
  /// Whether the others read there. Then a run has all that goes to others there, and copies
  /// nothing; or has nothing there, and copies it.
  bool shares() const { return shares_; }

  using Take = SegmentSharing::Take;
  using Outcome = SegmentSharing::Outcome;
  /// Collective. Hands each rank what it is to write, its own segments and the others', by file and
  /// offset; their memory is there until `take` returns. Where a rank gets more than it takes at a
  /// time, all go in steps, each sending as large a share in each. `more`: this rank comes to
  /// another run. Waiting yields the core. Ranks that share memory need neither steps nor messages
  /// for the data. What fails on a rank, `take` too, is in its outcome, and the others go on:
  /// what it had, or they had for it, is then not written.
  Outcome run(std::vector<OwnedSegment>& segments, bool more, const Take& take);

 private:
  static constexpr std::int64_t beside = 64;
  static_assert(beside >= SegmentSharing::beside);
  /// What one rank sends another, without what it keeps.
  struct Counts {
    std::int64_t bytes = 0, segments = 0;
  };
  /// What is told of a segment to who writes it.
  struct Description {
    std::int64_t file, offset, bytes;
  };
  /// Counts of a collective operation, and the places that follow from them.
  struct Layout {
    std::vector<int> counts, places;
    std::size_t total = 0;
    void set(std::size_t rank, std::int64_t count);
  };
  /// What messages need: made before the first, for who has no memory left then would leave the
  /// others waiting.
  struct Messages {
    Messages(std::size_t ranks, std::int64_t weight, std::size_t room);
    std::unique_ptr<std::byte[]> packed, received;
    std::size_t most;  // descriptions
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
  std::unique_ptr<SegmentSharing> sharing_;  // until it is known that they do not share
  std::unique_ptr<std::byte[]> staging_;     // until it is known that they do; and so the next
  std::unique_ptr<Messages> messages_;
  std::vector<OwnedSegment> ordered_;
  std::vector<DataSegment> to_write_;
};

}  // namespace triax
