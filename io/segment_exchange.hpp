#pragma once
// Brings pieces of files to the ranks that write them. Internal to io/.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/agree.hpp"
#include "io/segment_sharing.hpp"

namespace triax {

class SegmentExchange {
 public:
  /// What a rank takes at a time: so much weight, and as many bytes more as there are ranks.
  /// Without `share` all goes in messages, as between machines.
  SegmentExchange(const Ranks& ranks, std::int64_t weight, bool share = true);

  /// Of a segment: its bytes, and what is kept beside them on both sides.
  static std::int64_t weight(const DataSegment& segment) { return segment.bytes + beside; }

  /// Memory of `weight` bytes for copies of what the next run is handed; another after each run.
  std::byte* staging() const { return sharing_ ? sharing_->staging() : staging_.get(); }
  /// Whether the others read there, from the first run on in which there was something for them:
  /// then all that goes to others is to lie there, and is copied no more.
  bool shares() const { return sharing_ != nullptr; }

  using Take = SegmentSharing::Take;
  /// Collective. Hands each rank what it is to write, its own segments and the others', by file and
  /// offset; their memory is there until `take` returns, which must not throw. Where a rank gets
  /// more than it takes at a time, all go in steps, each sending as large a share in each. `more`:
  /// this rank comes to another run. Returns whether any rank does. Waiting yields the core. Ranks
  /// that share memory need neither steps nor messages for the data.
  bool run(std::vector<OwnedSegment>& segments, bool more, const Take& take);

 private:
  static constexpr std::int64_t beside = 64;
  static_assert(beside >= SegmentSharing::beside);
  /// What one rank sends another, without what it keeps.
  struct Counts {
    std::int64_t bytes = 0, segments = 0;
  };
  std::vector<Counts> received(const std::vector<Counts>& sent) const;
  std::vector<Counts> sent(std::span<const OwnedSegment> segments) const;
  void order(std::vector<OwnedSegment>& segments);
  bool exchange(std::vector<OwnedSegment>& segments, bool more, const Take& take);
  void step(std::span<const OwnedSegment> segments, const std::vector<Counts>& out,
            const std::vector<Counts>& in, const Take& take);

  Ranks ranks_;
  std::int64_t weight_;
  std::size_t room_;
  bool ask_;                                 // whether all share memory, when it is first wanted
  std::unique_ptr<SegmentSharing> sharing_;  // if so
  std::unique_ptr<std::byte[]> staging_, packed_, received_;  // null where they share
  std::vector<OwnedSegment> ordered_;
};

}  // namespace triax
