#pragma once
// Brings pieces of files to the ranks that write them. Internal to io/.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/agree.hpp"
#include "io/checkpoint_places.hpp"

namespace triax {

/// A segment and the rank that is to write it.
struct OwnedSegment {
  int owner;
  DataSegment segment;
};

class SegmentExchange {
 public:
  /// What a rank takes at a time: so much weight, and as many bytes more as there are ranks.
  SegmentExchange(const Ranks& ranks, std::int64_t weight);

  /// Of a segment: its bytes, and what is kept beside them on both sides.
  static std::int64_t weight(const DataSegment& segment) { return segment.bytes + beside; }

  using Take = std::function<void(std::span<const DataSegment>)>;
  /// Collective. Hands each rank what it is to write, its own segments and the others', by file and
  /// offset; their memory is there until `take` returns, which must not throw. Where a rank gets
  /// more than it takes at a time, all go in steps, each sending as large a share in each. `more`:
  /// this rank comes to another run. Returns whether any rank does. Waiting yields the core.
  bool run(std::vector<OwnedSegment>& segments, bool more, const Take& take);

 private:
  static constexpr std::int64_t beside = 64;
  /// What one rank sends another, without what it keeps.
  struct Counts {
    std::int64_t bytes = 0, segments = 0;
  };
  std::vector<Counts> received(const std::vector<Counts>& sent) const;
  std::vector<Counts> sent(std::span<const OwnedSegment> segments) const;
  void step(std::span<const OwnedSegment> segments, const std::vector<Counts>& out,
            const std::vector<Counts>& in, const Take& take);

  Ranks ranks_;
  std::int64_t weight_;
  std::size_t room_;
  std::unique_ptr<std::byte[]> packed_, received_;
};

}  // namespace triax
