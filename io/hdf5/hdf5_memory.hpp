// SPDX-License-Identifier: Apache-2.0
#pragma once
// HDF5 file created in memory and then written to disk by plain system calls. Internal to io/.
//
// HDF5 1.10 does not survive a failing write: a file that it cannot create or close crashes the
// program at exit, and ranks that share a file hang. Therefore HDF5 makes the structure in memory,
// where no write fails, and system calls with proper errors write it to disk.
#include <memory>
#include <optional>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace triax::hdf5 {

/// Creates an empty file with the striping of `hints`, replacing an existing one. Error with the
/// system's reason.
void create_empty(const std::string& path, const FileHints& hints);

/// Estimated bytes of a file beside its data: `datasets` datasets with names of model tensors, and
/// attributes of a job file's length.
inline std::int64_t structure_estimate(std::size_t datasets) {
  constexpr std::int64_t each = 640;  // bytes per dataset, measured
  constexpr std::int64_t attributes = 32 << 10;
  return attributes + each * static_cast<std::int64_t>(datasets);
}

class FileInMemory {
 public:
  /// Takes memory only for what is written, not for datasets whose space is merely allocated.
  /// `structure_bytes`: expected bytes of metadata; that much lies contiguously at the beginning of
  /// the file.
  explicit FileInMemory(File::Mode mode, const FileHints& hints = {},
                        std::int64_t structure_bytes = 0);
  ~FileInMemory();
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;

  /// The file, valid until close().
  File& file() { return *file_; }
  void close();
  /// After close(): writes the file into `path`, an existing file, which gets this file's length
  /// and disk space for all of it. The rest of each written page becomes zero. Error with the
  /// system's reason.
  void put_into(const std::string& path) const;

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;  // declared before the file that uses it
  std::optional<File> file_;
};

}  // namespace triax::hdf5
