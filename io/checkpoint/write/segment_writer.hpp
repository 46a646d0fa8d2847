// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two ways in which ranks write segments of shared files: independently or collectively. Internal
// to io/.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/write/checkpoint_extents.hpp"
#include "kernels/base/device/device.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// How long the memory to be written stays unchanged: until write() has returned, or until finish()
/// (flush, publish) has.
enum class Lifetime : std::uint8_t { call, finish };

class SegmentWriter {
 public:
  virtual ~SegmentWriter() = default;
  /// Before the first write(). Collective for a collective writer.
  virtual void meet() {}
  /// Writes segments. Error with the system's reason.
  virtual void write(std::span<const DataSegment> segments, Lifetime memory) = 0;
  /// Waits until all segments are on disk. Error with the system's reason.
  virtual void finish() = 0;
};

/// Segments of at least long_segment bytes are written past the page cache, and so are adjoining
/// shorter ones that add up to it. These are gathered in independent_bytes of memory:
/// independent_parts slots, of which half are being written while the others are filled.
constexpr std::int64_t long_segment = std::int64_t{256} << 10;
constexpr std::int64_t independent_bytes = std::int64_t{24} << 20;
constexpr std::int64_t independent_parts = 6;
/// Gather memory that a rank uses to write `bytes`.
constexpr std::int64_t independent_bytes_of(std::int64_t bytes) {
  return independent_bytes / independent_parts *
         std::min(independent_parts, bytes / long_segment + 1);
}

/// Gather slots, each allocated on first use. A caller that writes one file after another keeps
/// them: on a virtual machine, new pages from the host take longer than filling them.
using GatherMemory = std::array<Buffer, independent_parts>;
/// Allocates all slots at once. Error where memory is short.
void take_all(GatherMemory& memory);

/// Writer of one rank for itself. Adjoining segments of a file are gathered; long ones are written
/// past the page cache (BlockFile), without a copy from memory with Lifetime::finish whose address
/// equals the file offset modulo the page. It uses neither MPI nor HDF5, and any one thread may use
/// it. An Error may belong to an earlier write(). `memory` outlives the writer and is not used
/// elsewhere; null: the writer has its own.
std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths,
                                                  GatherMemory* memory = nullptr);

/// Writer of all ranks together: two-phase I/O in rounds, as in MPI-IO (Thakur, Gropp and Lusk
/// 1999). A rank writes its long segments itself. Short ones (columns of a matrix) go to the owner
/// of their stripe of the file, which writes them gathered into long ranges. A stripe has
/// max(`stripe`, 4 MiB) bytes, and stripes are assigned to ranks in turn. write() keeps short
/// segments until they fill a third of collective_bytes; then, and in finish(), ranks wait for each
/// other, so each rank must call finish(), also after an Error. A failure of one rank (disk,
/// memory) is thrown by its finish(); until then the others go on. Without meet() all data go by
/// messages. `memory`: as above; meet() allocates all of its slots.
std::unique_ptr<SegmentWriter> collective_writer(std::vector<std::string> paths, const Ranks& ranks,
                                                 std::int64_t stripe,
                                                 GatherMemory* memory = nullptr);

/// Memory of a collective writer beside independent_bytes: one third each for staged, packed and
/// received segments. With shared memory it takes two thirds: two staging buffers, of which the
/// others read one while the other is filled. Larger buffers fit the processor's cache worse: twice
/// the size is a quarter slower. collective_library_bytes: about what MPI allocates meanwhile.
constexpr std::int64_t collective_bytes = std::int64_t{24} << 20;
constexpr std::int64_t collective_library_bytes = std::int64_t{8} << 20;

}  // namespace triax
