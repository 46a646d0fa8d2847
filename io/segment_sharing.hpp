#pragma once
// The exchange of SegmentExchange where all ranks share memory. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "io/agree.hpp"
#include "io/checkpoint_places.hpp"
#include "kernels/base/shared_memory.hpp"

namespace triax {

/// A segment and the rank that is to write it.
struct OwnedSegment {
  int owner;
  DataSegment segment;
};

/// Each rank packs what the others are to write into memory that they read. One message to each
/// says what lies there; that all have sent theirs says that what was packed before is free again.
class SegmentSharing {
 public:
  using Take = std::function<void(std::span<const DataSegment>)>;
  /// Collective. Null, on all ranks alike, where some rank cannot open another's memory: ranks of
  /// several machines, or the system forbids it. `bytes`: what a rank packs at a time, with
  /// `beside` for each segment.
  static std::unique_ptr<SegmentSharing> make(const Ranks& ranks, std::int64_t bytes);
  static constexpr std::int64_t beside = 32;
  SegmentSharing(const SegmentSharing&) = delete;
  SegmentSharing& operator=(const SegmentSharing&) = delete;

  /// As SegmentExchange::run; the segments are sorted by owner.
  bool run(std::span<const OwnedSegment> segments, bool more, const Take& take);

 private:
  // Where a segment lies in the file, and in the part of the memory.
  struct Packed {
    std::int64_t file, offset, bytes, at;
  };
  static_assert(sizeof(Packed) == beside);
  // What one rank tells another: which of its part's first numbers are of segments for it.
  struct Told {
    std::int64_t first = 0, count = 0, more = 0;
  };
  SegmentSharing(const Ranks& ranks, std::int64_t bytes) : ranks_(ranks), bytes_(bytes) {}
  bool same_home() const;
  bool meet();
  std::vector<Told> pack(std::span<const OwnedSegment> segments, std::vector<DataSegment>& own);

  Ranks ranks_;
  std::int64_t bytes_;                // of a part; the memory has two
  SharedMemory mine_;                 // this rank's
  std::vector<SharedMemory> others_;  // of the ranks
  std::int64_t part_ = 0;             // where it begins
};

}  // namespace triax
