#pragma once
// Two ways in which ranks write segments of shared files. Internal to io/.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/write/checkpoint_places.hpp"
#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// How long memory that is to be written stays as it is: until the call has returned, or until
/// finish (flush, publish) has.
enum class Lifetime : std::uint8_t { call, finish };

class SegmentWriter {
 public:
  virtual ~SegmentWriter() = default;
  /// Before the first write: collective where ranks write together.
  virtual void meet() {}
  /// Error with the system's reason.
  virtual void write(std::span<const DataSegment> segments, Lifetime memory) = 0;
  /// Waits until all that was written is on disk. Error with the system's reason.
  virtual void finish() = 0;
};

/// Segments from this length on go past the page cache. Others do where as many bytes adjoin; they
/// are gathered in memory of so many bytes, in so many parts, half of which are on their way to the
/// disk while the others are filled.
constexpr std::int64_t long_segment = std::int64_t{256} << 10;
constexpr std::int64_t independent_bytes = std::int64_t{24} << 20;
constexpr std::int64_t independent_parts = 6;
/// What of that a rank takes which writes so many bytes.
constexpr std::int64_t independent_bytes_of(std::int64_t bytes) {
  return independent_bytes / independent_parts *
         std::min(independent_parts, bytes / long_segment + 1);
}

/// Memory that segments are gathered in; a part comes when it is first wanted. Who writes one file
/// after another keeps it for all of them: where the host of a virtual machine has to find memory
/// anew, that takes longer than to fill it.
using GatherMemory = std::array<Buffer, independent_parts>;
/// All parts now, where a rank has to know that they are there. Error where they are not.
void take_all(GatherMemory& memory);

/// Each rank for itself. Segments that adjoin in a file are gathered; where they are long they go
/// past the page cache (BlockFile), straight from their memory where it stays and lies as the disk
/// wants it. Uses neither MPI nor HDF5: from any one thread. An Error may be of an earlier write.
/// `memory` outlives the writer and is no other's meanwhile; null: the writer has its own.
std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths,
                                                  GatherMemory* memory = nullptr);

/// All ranks together, by an exchange in rounds as MPI-IO has it in two phases (Thakur, Gropp and
/// Lusk 1999). Who has a long segment writes it. Short ones (columns of a matrix) go to the rank to
/// which their stripe of the file is dealt, in turn; it writes what comes together for itself, in
/// the long runs that file systems like. A stripe is `stripe` bytes, and 4 MiB at least. `write`
/// keeps short segments until their bytes fill a third of collective_bytes; then, and in `finish`,
/// ranks wait for each other: each rank must call `finish`, also after an Error. A failure of one
/// rank, of its disk or of memory, is thrown by its `finish`, and meanwhile the others go on.
/// Without `meet` all goes in messages. `memory`: as above; all of its addresses are taken in
/// `meet`.
std::unique_ptr<SegmentWriter> collective_writer(std::vector<std::string> paths, const Ranks& ranks,
                                                 std::int64_t stripe,
                                                 GatherMemory* memory = nullptr);

/// What a rank keeps of what is to be written together beside independent_bytes: a third of it its
/// own, as much packed for others, and as much from others, who send in turns what is more. Where
/// they read each other's memory it is two thirds: what is for others they read where it was
/// staged, while as much is staged anew. And about what MPI takes meanwhile. What goes round so
/// often stays in the processor's cache better: twice as much is a quarter slower.
constexpr std::int64_t collective_bytes = std::int64_t{24} << 20;
constexpr std::int64_t collective_library_bytes = std::int64_t{8} << 20;

}  // namespace triax
