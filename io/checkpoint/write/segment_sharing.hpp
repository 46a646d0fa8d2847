// SPDX-License-Identifier: Apache-2.0
#pragma once
// SegmentExchange for ranks that all share memory. Internal to io/.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "io/checkpoint/write/checkpoint_extents.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "kernels/base/process/shared_memory.hpp"

namespace triax {

/// A segment and the rank that writes it.
struct OwnedSegment {
  int owner;
  DataSegment segment;
};

inline bool before_in_file(const DataSegment& a, const DataSegment& b) {
  return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
}

/// Each rank puts the segments for others into one of two shared buffers, which the others read.
/// One all-to-all per run() announces the lists of segments; its completion also shows that the
/// buffer of the previous run() is free.
class SegmentSharing {
 public:
  using Take = std::function<void(std::span<const DataSegment>)>;
  struct Outcome {
    bool any_more = false;       // some rank needs another run()
    std::exception_ptr failure;  // of this rank alone; null: none
  };
  /// `bytes`: size of one buffer: the segments of one run(), with `beside` for each.
  SegmentSharing(const Ranks& ranks, std::int64_t bytes);
  /// Collective, before all other calls. False, on all ranks alike, where a rank is not `willing`
  /// or cannot open another's memory (several machines, or forbidden by the system).
  bool meet(bool willing);
  static constexpr std::int64_t beside = 32;
  SegmentSharing(const SegmentSharing&) = delete;
  SegmentSharing& operator=(const SegmentSharing&) = delete;

  /// Buffer of the next run() (see SegmentExchange::staging).
  std::byte* staging() const { return mine_.data() + part_; }
  /// As SegmentExchange::run(). `segments`: sorted by owner, then by file and offset.
  Outcome run(std::span<const OwnedSegment> segments, bool more, const Take& take);

 private:
  // A segment's location in the file, and its offset `at` in the buffer. A buffer ends with a list
  // of these.
  struct Listed {
    std::int64_t file, offset, bytes, at;
  };
  static_assert(sizeof(Listed) == beside);
  // Announcement of one rank to another: length of its list, and the range of it for the other.
  struct SegmentList {
    std::int64_t length = 0, first = 0, count = 0, more = 0;
  };
  bool same_home(const SharedMemory::Home& own) const;
  bool open_others(std::span<const std::int64_t> names);
  bool is_staged(const DataSegment& segment) const;
  void list(std::span<const OwnedSegment> segments);
  void collect(std::int64_t part, std::span<const OwnedSegment> segments);
  // The list at the end of the buffer that begins at `part`.
  std::span<Listed> listed(const SharedMemory& memory, std::int64_t part,
                           std::int64_t length) const {
    return {reinterpret_cast<Listed*>(memory.data() + part + bytes_) - length,
            static_cast<std::size_t>(length)};
  }

  Ranks ranks_;
  std::int64_t bytes_;                        // of one buffer; the memory has two
  SharedMemory mine_;                         // memory of this rank
  std::vector<SharedMemory> others_;          // memory of the other ranks, by rank
  std::int64_t part_ = 0;                     // begin of the next run's buffer
  std::vector<SegmentList> sent_, received_;  // by rank
  std::vector<DataSegment> to_write_;
};

}  // namespace triax
