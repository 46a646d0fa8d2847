// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes checkpoints (format: io/checkpoint/README.md). HDF5 makes only the
// structure of a file, on rank 0; SegmentWriters write the data at the offsets in
// CheckpointExtents. A file gets its final name only when it is whole and its data are on disk.
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/checkpoint/checkpoint_parts.hpp"
#include "io/checkpoint/write/segment_writer.hpp"
#include "io/files/durable.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

struct CheckpointOptions {
  int files = 1;  // number of files for the tensors' data; > 1: part files beside a master
  hdf5::FileHints hints = {};
  bool collective = false;  // collective_writer() (segment_writer.hpp)
  Existing existing = Existing::replaced;
  /// Gather memory that the caller keeps from file to file; null: the writer has its own.
  GatherMemory* gather = nullptr;
};

/// Writes one checkpoint. Constructor, create() and publish() are collective over `ranks`: they
/// throw an Error on all ranks alike, which leaves published checkpoints untouched. write(),
/// flush() and fail() are independent: between create() and publish() each rank calls them any
/// number of times, from any one thread, as they use neither MPI nor HDF5. With options.collective,
/// ranks wait for each other in write(), and flush() must not be called.
class CheckpointWriter {
 public:
  /// Creates "<path>.tmp", and its directory if missing. Replaces a stale .tmp file of the same
  /// name.
  CheckpointWriter(const std::string& path, const Ranks& ranks,
                   const CheckpointOptions& options = {});
  ~CheckpointWriter();  // removes an unpublished file
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Writes the header, with the texts of rank 0, and creates the datasets. Error where disk space
  /// for them is missing. Rank 0 writes everything except tensor data.
  void create(const CheckpointHeader& header, const std::vector<CheckpointTensor>& tensors);
  /// Writes the elements of a tensor in `boxes` (see hdf5::File::write), in the tensor's type. All
  /// ranks together must write each element exactly once, as checksums sum what is written. A
  /// failure is kept, and publish() throws it on all ranks: a rank that left early would hang the
  /// others. `memory`: with Lifetime::finish the data stay unchanged until flush() or publish() has
  /// returned, or the writer is destroyed, and need not be copied.
  void write(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data,
             Lifetime memory = Lifetime::call);
  /// File offset of the first element of `boxes`. Long data with Lifetime::finish are written
  /// without a copy from memory whose address equals this offset modulo the page (4096 bytes).
  std::int64_t offset(const std::string& name, const std::vector<hdf5::Box>& boxes) const {
    return extents_.offset(name, boxes);
  }
  /// Waits until this rank's data are on disk, as publish() does. A failure is kept for publish().
  void flush();
  /// Records that this rank cannot provide its data: publish() throws `why` on all ranks.
  void fail(const std::string& why);
  /// Sums the ranks' checksums, closes, syncs and renames the file, then syncs its directory. A
  /// failure of any rank, here, in write() or by fail(), is an Error on all ranks, and the file is
  /// not published. Returns "" or, where only the directory's sync fails, a warning on all ranks
  /// that a crash of the machine may lose the published file.
  std::string publish();

 private:
  void discard() noexcept;
  std::vector<std::uint64_t> write_structure(const std::vector<CheckpointTensor>& datasets);
  CheckpointExtents extents_of(const std::vector<CheckpointTensor>& datasets,
                               const std::vector<std::uint64_t>& offsets) const;
  void open_data();
  void write_master();

  std::string path_, temporary_;
  Ranks ranks_;
  CheckpointOptions options_;
  bool open_ = true;  // false once published or discarded
  std::optional<CheckpointParts> parts_;
  CheckpointExtents extents_;            // from create on
  std::unique_ptr<SegmentWriter> data_;  // from create on
  CheckpointHeader header_;
  std::vector<CheckpointTensor> tensors_;
  TensorChecksums sums_;  // of this rank's data
  std::string failure_;   // first failure of this rank
};

}  // namespace triax
