#pragma once
// An HDF5 file that is made in memory before its bytes go to the disk. Internal to io/.
//
// HDF5 1.10 must not meet a write that fails: a file that it cannot create or close crashes the
// program at its end, and ranks that share a file wait for each other for ever. So it makes the
// structure here, where nothing fails, and the disk is left to calls that say what went wrong.
#include <memory>
#include <optional>
#include <string>

#include "io/hdf5/hdf5.hpp"

namespace triax::hdf5 {

/// An empty file, in place of one that is there, that lies on the file system as the hints say.
/// Error with the system's reason.
void create_empty(const std::string& path, const FileHints& hints);

/// What so many datasets, with names as models have them, take of a file beside their data, and
/// attributes as long as a job file.
inline std::int64_t structure_estimate(std::size_t datasets) {
  constexpr std::int64_t each = 640;  // measured
  constexpr std::int64_t attributes = 32 << 10;
  return attributes + each * static_cast<std::int64_t>(datasets);
}

class FileInMemory {
 public:
  /// One process's. Takes memory for what is written, not for datasets whose space is merely
  /// allocated. `structure_bytes`: what describes the file takes about as much, and so far lies in
  /// one piece at its beginning.
  explicit FileInMemory(File::Mode mode, const FileHints& hints = {},
                        std::int64_t structure_bytes = 0);
  ~FileInMemory();
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;

  /// Until close().
  File& file() { return *file_; }
  void close();
  /// After close(): writes the bytes into `path`, an existing file, which gets this one's length,
  /// and room on the disk for all of it. What lies beside written bytes, up to the end of their
  /// pages, becomes zero. Error with the system's reason.
  void put_into(const std::string& path) const;

 private:
  struct Driver;
  std::unique_ptr<Driver> driver_;  // before the file that uses it
  std::optional<File> file_;
};

}  // namespace triax::hdf5
