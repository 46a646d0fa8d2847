// SPDX-License-Identifier: Apache-2.0
#pragma once
// State that a rank keeps on a disk instead of in memory (ZeRO-Infinity, Rajbhandari et al. 2021):
// an OffloadFile, readable with h5ls during the run, and the buffers it is read into and written
// from.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/offload/offload_file.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// Location of a rank's offload file, and how it is read and written.
struct OffloadLocation {
  std::string path;  // the file; empty: nothing is offloaded
  std::int64_t block_bytes = std::int64_t{1} << 20;
  int queue_depth = 8;
  Ranks ranks = MPI_COMM_SELF;  // ranks that create their files together
};

/// Ranges of datasets that are in memory together, in one buffer.
struct OffloadUnit {
  /// Elements [first, first + count) of a dataset. `first` is the start of a page; the range ends
  /// at a page boundary or at the dataset's end.
  struct Run {
    std::size_t dataset = 0;
    std::int64_t first = 0, count = 0;
  };
  std::vector<Run> runs;
  int pool = 0;  // pool of the buffer
};

/// Bytes a store takes: memory of its buffers, and disk space of its datasets.
struct OffloadBytes {
  std::int64_t buffers = 0, stored = 0;
  bool operator==(const OffloadBytes&) const = default;
};
/// Bytes an OffloadStore of these arguments will take.
OffloadBytes offload_bytes(const std::vector<OffloadDataset>& datasets,
                           const std::vector<OffloadUnit>& units, const std::vector<int>& buffers);

/// Use of stored state by a visitor.
enum class Access : std::uint8_t { read, update, replace };

class OffloadStore {
 public:
  /// Collective over location.ranks: if one rank fails (no such directory, disk full), all throw
  /// its Error. The file starts as zeros and is removed by the destructor. `buffers`: units of each
  /// pool in memory at once, at least 1 if the pool has units. `beside`: space of the tensors
  /// copied to and from the buffers, which are pinned for a device.
  OffloadStore(const OffloadLocation& location, std::vector<OffloadDataset> datasets,
               std::vector<OffloadUnit> units, const std::vector<int>& buffers,
               MemorySpace beside = MemorySpace::host);

  // A unit has a buffer from start_read() to wait_write() or release(); its data is there after
  // wait_read(). Error if the disk fails.
  void start_read(int unit);
  /// Completes the read and returns true if that needs no waiting; else returns false.
  [[nodiscard]] bool test_read(int unit);
  void wait_read(int unit) { wait(unit); }
  void start_write(int unit);
  void wait_write(int unit);
  /// Releases the buffer; the file stays unchanged.
  void release(int unit);
  /// Range `run` of a unit that is in memory: (count).
  Tensor at(int unit, std::size_t run) const;

  /// Calls visit() with the unit in memory. It is read before, or zeroed for Access::replace, and
  /// written back unless only read. The unit must not be in memory before, and is not afterwards.
  /// If visit() throws, the file stays unchanged. The buffer is freed in any case.
  template <class Visit>
  void visit(const Stream& stream, int unit, Access access, Visit&& visit) {
    try {
      open(unit, access);
      std::forward<Visit>(visit)();
      close(unit, access);
    } catch (...) {
      abandon(stream, unit);  // the caller may continue without the unit
      throw;
    }
  }

  const std::vector<OffloadDataset>& datasets() const { return datasets_; }
  std::int64_t file_bytes() const { return file_ ? file_->bytes() : 0; }
  OffloadBytes bytes() const;
  /// One line: the file and its I/O method.
  std::string description() const;

 private:
  static constexpr int none = -1;
  struct State {
    int slot = none;
    std::vector<std::int64_t> offsets;   // of the ranges in the buffer, in bytes
    std::vector<BlockRequest> requests;  // one per range
  };
  void wait(int unit);
  void open(int unit, Access access);
  void close(int unit, Access access);
  void abandon(const Stream& stream, int unit);
  void make_pools(const std::vector<int>& buffers, MemorySpace beside);
  const OffloadUnit& unit_of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  State& of(int unit) { return states_[static_cast<std::size_t>(unit)]; }
  BufferPool& pool_of(int unit) { return pools_[static_cast<std::size_t>(unit_of(unit).pool)]; }

  WaitWatch* watch_;  // notified of waits for the disk; may be null
  std::vector<OffloadDataset> datasets_;
  std::vector<OffloadUnit> units_;
  std::vector<BufferPool> pools_;      // declared before the file: must outlive its transfers
  std::unique_ptr<OffloadFile> file_;  // null without datasets
  std::vector<State> states_;          // by unit
};

}  // namespace triax
