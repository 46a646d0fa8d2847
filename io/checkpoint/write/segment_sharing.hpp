#pragma once
// The exchange of SegmentExchange where all ranks share memory. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "io/checkpoint/write/checkpoint_places.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/shared_memory.hpp"

namespace triax {

/// A segment and the rank that is to write it.
struct OwnedSegment {
  int owner;
  DataSegment segment;
};

inline bool before_in_file(const DataSegment& a, const DataSegment& b) {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

/// What the others are to write each rank puts into memory that they read. One message to each says
/// what lies there; that all have sent theirs says that what was there before is free again.
class SegmentSharing {
 public:
  using Take = std::function<void(std::span<const DataSegment>)>;
  struct Outcome {
    bool any_more = false;       // some rank comes to another run
    std::exception_ptr failure;  // of this rank alone; null where there was none
  };
  /// `bytes`: what a rank puts there at a time, with `beside` for each segment.
  SegmentSharing(const Ranks& ranks, std::int64_t bytes);
  /// Collective, before all else. False, on all ranks alike, where some rank cannot open another's
  /// memory: ranks of several machines, or the system forbids it; or where one is not `willing`.
  bool meet(bool willing);
  static constexpr std::int64_t beside = 32;
  SegmentSharing(const SegmentSharing&) = delete;
  SegmentSharing& operator=(const SegmentSharing&) = delete;

  /// See SegmentExchange. The bytes of the next run begin here.
  std::byte* staging() const { return mine_.data() + part_; }
  /// As SegmentExchange::run; the segments are in the order of owners, each one's in the file's.
  Outcome run(std::span<const OwnedSegment> segments, bool more, const Take& take);

 private:
  // Where a segment lies in the file, and in the part of the memory, which ends with a list of
  // these.
  struct Listed {
    std::int64_t file, offset, bytes, at;
  };
  static_assert(sizeof(Listed) == beside);
  // What one rank tells another: how long its list is, and what of that is for the other.
  struct Told {
    std::int64_t length = 0, first = 0, count = 0, more = 0;
  };
  bool same_home(const SharedMemory::Home& own) const;
  bool open_others(std::span<const std::int64_t> names);
  bool is_staged(const DataSegment& segment) const;
  void list(std::span<const OwnedSegment> segments);
  void collect(std::int64_t part, std::span<const OwnedSegment> segments);
  // Of a part of somebody's memory.
  std::span<Listed> listed(const SharedMemory& memory, std::int64_t part,
                           std::int64_t length) const {
    return {reinterpret_cast<Listed*>(memory.data() + part + bytes_) - length,
            static_cast<std::size_t>(length)};
  }

  Ranks ranks_;
  std::int64_t bytes_;                // of a part; the memory has two
  SharedMemory mine_;                 // this rank's
  std::vector<SharedMemory> others_;  // of the ranks
  std::int64_t part_ = 0;             // of the next run: where it begins
  std::vector<Told> told_, heard_;    // by rank
  std::vector<DataSegment> to_write_;
};

}  // namespace triax
