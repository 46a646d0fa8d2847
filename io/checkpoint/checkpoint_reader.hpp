// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads checkpoints (format: io/checkpoint/README.md).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/checkpoint/checkpoint_header.hpp"
#include "io/checkpoint/checkpoint_integrity.hpp"
#include "io/hdf5/hdf5.hpp"
#include "kernels/base/mpi/agree.hpp"

namespace triax {

/// Opens a published checkpoint. Error where the file or one of its parts is absent, not HDF5,
/// truncated, not a checkpoint of triax, of a newer format, or has damaged attributes. Tensor data
/// are not checked here but by verify_checkpoint(). Used by one thread.
class CheckpointReader {
 public:
  /// Opens the file for this process alone.
  explicit CheckpointReader(const std::string& path);
  /// Collective. Rank 0 opens the file and broadcasts its header and list of tensors, so that a
  /// thousand ranks do not scan one file. Other ranks open it only where HDF5 is needed to read a
  /// tensor's data. Error on all ranks alike.
  CheckpointReader(const std::string& path, const Ranks& ranks);
  const CheckpointHeader& header() const { return header_; }
  const std::string& path() const { return path_; }
  /// Path behind symbolic links: the parts are beside the file itself, not beside a link to it.
  const std::string& real_path() const { return real_path_; }
  /// Bytes of the file and its part files.
  std::int64_t file_bytes() const;
  /// Every tensor of the file, sorted by name.
  const std::vector<CheckpointTensor>& tensors() const;
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  /// Error where there is no tensor of that name.
  const CheckpointTensor& tensor(const std::string& name) const;
  Shape shape(const std::string& name) const { return tensor(name).shape; }
  void read(const std::string& name, const std::vector<hdf5::Box>& boxes, const Tensor& data) const;

  /// False for files of format 1, which have no checksums.
  bool has_checksums() const { return has_checksums_; }
  /// Elements per checksum chunk.
  std::int64_t checksum_block() const { return read_integrity_block(file(), path_); }
  /// The checksums of one of tensors(), one per chunk of `block` = checksum_block() elements, as
  /// add_checksums() makes them with the seed of its name.
  std::vector<std::uint64_t> checksums(const CheckpointTensor& tensor, std::int64_t block) const;
  /// Error where names, types or shapes of tensors() differ from those written.
  void check_tensors() const { triax::check_tensors(file(), path_, tensors()); }

  /// The HDF5 file, opened on first use.
  const hdf5::File& file() const;

 private:
  void open();
  const CheckpointTensor* find(const std::string& name) const;  // null: no such tensor
  std::string packed() const;
  void unpack(const std::string& text);

  std::string path_;
  std::string real_path_;  // with symbolic links resolved
  CheckpointHeader header_;
  bool has_checksums_ = false;
  mutable std::optional<hdf5::File> file_;                        // opened on first use
  mutable std::optional<std::vector<CheckpointTensor>> tensors_;  // listed on first use
};

}  // namespace triax
