#pragma once
// What a rank keeps on a disk instead of in memory (ZeRO-Infinity, Rajbhandari et al. 2021): an
// OffloadFile, and the buffers through which it comes and goes.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/offload/offload_file.hpp"
#include "kernels/base/mpi/agree.hpp"
#include "src/state/buffer_pool.hpp"

namespace triax {

/// Where a rank keeps it, and how it is read and written.
struct OffloadPlace {
  std::string path;  // the file; empty: nothing is offloaded
  std::int64_t block_bytes = std::int64_t{1} << 20;
  int queue_depth = 8;
  Ranks ranks = MPI_COMM_SELF;  // those that make their files together
};

/// What is in memory together, in one buffer: runs of datasets.
struct OffloadUnit {
  /// Elements [first, first + count) of a dataset; `first` begins a page, the count fills pages or
  /// reaches the dataset's end.
  struct Run {
    std::size_t dataset = 0;
    std::int64_t first = 0, count = 0;
  };
  std::vector<Run> runs;
  int pool = 0;  // of the buffers
};

/// What a store takes: of memory for its buffers, and of the disk for its datasets.
struct OffloadBytes {
  std::int64_t buffers = 0, stored = 0;
  bool operator==(const OffloadBytes&) const = default;
};
/// What an OffloadStore of these will take.
OffloadBytes offload_bytes(const std::vector<OffloadDataset>& datasets,
                           const std::vector<OffloadUnit>& units, const std::vector<int>& buffers);

/// What the visitor of stored state does with it.
enum class Access : std::uint8_t { read, update, replace };

class OffloadStore {
 public:
  /// Collective over place.ranks: where one rank fails, all throw its Error (no such directory, no
  /// room on the disk). The file's elements are zero; it is removed when the object goes.
  /// `buffers`: units of a pool in memory at once, at least 1 where there are any; `beside`: the
  /// memory that their data come from and go to, the host's or a device's.
  OffloadStore(const OffloadPlace& place, std::vector<OffloadDataset> datasets,
               std::vector<OffloadUnit> units, const std::vector<int>& buffers,
               MemorySpace beside = MemorySpace::host);

  // A unit is in memory from start_read, whose data are there after wait_read, to wait_write or
  // release. Error where the disk fails.
  void start_read(int unit);
  /// wait_read where that would not wait, and true; else false.
  [[nodiscard]] bool test_read(int unit);
  void wait_read(int unit) { wait(unit); }
  void start_write(int unit);
  void wait_write(int unit);
  /// Gives the buffer up; the file keeps what it has.
  void release(int unit);
  /// A run of a unit that is in memory: (count).
  Tensor at(int unit, std::size_t run) const;

  /// Calls visit() with the unit in memory: read before, but zero for Access::replace, and written
  /// back after where it changes. The unit is in the file before and after; where visit() throws,
  /// as it was. The buffer is free again in any case.
  template <class Visit>
  void visit(const Stream& stream, int unit, Access access, Visit&& visit) {
    try {
      open(unit, access);
      std::forward<Visit>(visit)();
      close(unit, access);
    } catch (...) {
      abandon(stream, unit);  // the caller may go on without it
      throw;
    }
  }

  std::int64_t file_bytes() const { return file_ ? file_->bytes() : 0; }
  OffloadBytes bytes() const;
  /// One line: the file, and how it is read and written.
  std::string description() const;

 private:
  static constexpr int none = -1;
  struct State {
    int slot = none;
    std::vector<std::int64_t> offsets;   // of the runs in the buffer, bytes
    std::vector<BlockRequest> requests;  // one a run
  };
  void wait(int unit);
  void open(int unit, Access access);
  void close(int unit, Access access);
  void abandon(const Stream& stream, int unit);
  void make_pools(const std::vector<int>& buffers, MemorySpace beside);
  const OffloadUnit& unit_of(int unit) const { return units_[static_cast<std::size_t>(unit)]; }
  State& of(int unit) { return states_[static_cast<std::size_t>(unit)]; }
  BufferPool& pool_of(int unit) { return pools_[static_cast<std::size_t>(unit_of(unit).pool)]; }

  WaitWatch* watch_;  // is told of waits for the disk; may be null
  std::vector<OffloadDataset> datasets_;
  std::vector<OffloadUnit> units_;
  std::vector<BufferPool> pools_;      // outlive the transfers
  std::unique_ptr<OffloadFile> file_;  // none without datasets
  std::vector<State> states_;          // by unit
};

}  // namespace triax
