// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads a checkpoint on all ranks together: data that several ranks need at about the same time are
// read from disk once and checked once.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/load/loader_options.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

class CheckpointRounds;

/// Each rank first declares its needs with want(), then reads the same data in the same order.
/// Ranks work in rounds: of the chunks that all ranks need next, one of the ranks that need a chunk
/// reads it (past the page cache where the dataset is contiguous), compares it with its checksum
/// and passes it on. A chunk that a rank needs again after others have filled the window is read
/// again. Ranks that share no chunks do not wait for each other.
///
/// Ranks wait for each other in read() and finish(). A damaged chunk or a failing disk is an Error
/// of these calls on all ranks alike, after which the loader does nothing more. The call that
/// throws may come after the one that returned the damaged data: no data are valid until finish()
/// has returned.
class CheckpointLoader {
 public:
  /// Collective. `reader` outlives the loader. Error on all ranks alike where the file's lists are
  /// damaged.
  CheckpointLoader(const CheckpointReader& reader, const Ranks& ranks,
                   const LoaderOptions& options = {});
  ~CheckpointLoader();
  CheckpointLoader(const CheckpointLoader&) = delete;
  CheckpointLoader& operator=(const CheckpointLoader&) = delete;

  /// False for a file of format 1: its data cannot be checked.
  bool has_checksums() const;
  /// Declares that this rank will read `boxes` of a tensor (see hdf5::File::read). Before the first
  /// read().
  void want(const std::string& name, const std::vector<hdf5::Box>& boxes);
  /// Reads the elements in `boxes` to `data`, as float32 or in the tensor's type. One want() may
  /// cover several read() calls, if the order of elements is the same.
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data);
  /// Records that this rank cannot use the data: finish() throws `why` on all ranks.
  void fail(const std::string& why);
  /// True once read() or finish() has thrown an Error on all ranks.
  bool failed() const;
  /// Collective. Each rank calls it after it has read everything it wanted.
  void finish();
  /// After the first read(): why the ranks of some node share no memory, so that each of them reads
  /// the common data itself; empty: all nodes share. The same on all ranks.
  std::string unshared() const;
  /// Bytes that this rank has read from disk.
  std::int64_t bytes_read() const;

 private:
  std::unique_ptr<CheckpointRounds> rounds_;
};

}  // namespace triax
