#pragma once
// The exchange of SegmentExchange where all ranks share memory. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
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

/// The file's order.
inline bool before(const DataSegment& a, const DataSegment& b) {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

/// What the others are to write each rank puts into memory that they read. One message to each says
/// what lies there; that all have sent theirs says that what was there before is free again.
class SegmentSharing {
 public:
  using Take = std::function<void(std::span<const DataSegment>)>;
  /// Collective. Null, on all ranks alike, where some rank cannot open another's memory: ranks of
  /// several machines, or the system forbids it. `bytes`: what a rank puts there at a time, with
  /// `beside` for each segment.
  static std::unique_ptr<SegmentSharing> make(const Ranks& ranks, std::int64_t bytes);
  static constexpr std::int64_t beside = 32;
  SegmentSharing(const SegmentSharing&) = delete;
  SegmentSharing& operator=(const SegmentSharing&) = delete;

  /// Where it puts the bytes of the next run: they begin here.
  std::byte* staging() const { return mine_.data() + part_; }
  /// As SegmentExchange::run; the segments are in the order of owners, each one's in the file's.
  /// Those for others lie in staging(), or none does: then they are copied there.
  bool run(std::span<const OwnedSegment> segments, bool more, const Take& take);

 private:
  // Where a segment lies in the file, and in the part of the memory, which ends with these.
  struct Packed {
    std::int64_t file, offset, bytes, at;
  };
  static_assert(sizeof(Packed) == beside);
  // What one rank tells another: which of those are for it.
  struct Told {
    std::int64_t of = 0, first = 0, count = 0, more = 0;
  };
  SegmentSharing(const Ranks& ranks, std::int64_t bytes) : ranks_(ranks), bytes_(bytes) {}
  bool same_home() const;
  bool meet();
  std::vector<Told> pack(std::span<const OwnedSegment> segments, std::vector<DataSegment>& own);
  void collect(int rank, const Told& heard, std::vector<DataSegment>& to_write) const;
  // The first of what is known of so many segments.
  Packed* packed(const SharedMemory& of, std::int64_t count) const {
    return reinterpret_cast<Packed*>(of.data() + part_ + bytes_) - count;
  }

  Ranks ranks_;
  std::int64_t bytes_;                // of a part; the memory has two
  SharedMemory mine_;                 // this rank's
  std::vector<SharedMemory> others_;  // of the ranks
  std::int64_t part_ = 0;             // of the next run: where it begins
};

}  // namespace triax
