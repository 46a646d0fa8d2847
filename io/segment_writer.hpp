#pragma once
// Two ways in which ranks write segments of shared files. Internal to io/.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/agree.hpp"
#include "io/checkpoint_places.hpp"
#include "io/hdf5.hpp"

namespace triax {

class SegmentWriter {
 public:
  virtual ~SegmentWriter() = default;
  /// The memory may be reused when it returns. Error with the system's reason.
  virtual void write(std::span<const DataSegment> segments) = 0;
  /// Waits until all that was written is on disk. Error with the system's reason.
  virtual void finish() = 0;
};

/// Each rank for itself, past the page cache where segments are long (BlockFile). Uses neither MPI
/// nor HDF5: from any one thread. An Error may be of an earlier write.
std::unique_ptr<SegmentWriter> independent_writer(std::vector<std::string> paths);

/// Segments from this length on go past the page cache, through memory of so many bytes.
constexpr std::int64_t long_segment = std::int64_t{256} << 10;
constexpr std::int64_t independent_bytes = std::int64_t{8} << 20;

/// All ranks together, by MPI-IO in two phases (Thakur, Gropp and Lusk 1999): some ranks collect
/// what others have and write long runs of the file, which file systems like better than many short
/// ones. `write` keeps a copy until the bytes of collective_bytes have come together; then, and in
/// `finish`, ranks wait for each other: each rank must call `finish`, also after an Error. Where
/// the disk fails under one rank, MPICH's others wait for it for ever, until the watchdog ends the
/// job.
std::unique_ptr<SegmentWriter> collective_writer(const std::vector<std::string>& paths,
                                                 const Ranks& ranks, const hdf5::FileHints& hints);

/// What a rank keeps of what it is to write together with others, and what MPI-IO takes meanwhile:
/// its buffer (cb_buffer_size, 16 MiB) and about as much on its way to others.
constexpr std::int64_t collective_bytes = std::int64_t{32} << 20;
constexpr std::int64_t collective_library_bytes = std::int64_t{24} << 20;

}  // namespace triax
