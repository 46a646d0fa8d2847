// SPDX-License-Identifier: Apache-2.0
#pragma once
// File or directory that a command writes: checked before the command reads gigabytes, and locked
// against other processes.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/files/file_lock.hpp"

namespace triax {

/// Directories that must be created for `directory` to exist, the innermost first.
std::vector<std::string> directories_to_make(const std::string& directory);

/// Locks a file or directory for this process as long as the object lives. One rank only.
class OutputTarget {
 public:
  enum class Kind : std::uint8_t { file, directory };

  /// Creates the directory, or the parent directory of the file; the destructor removes it if it is
  /// still empty. Once the lock is held, removes the "<path>.tmp" that a killed command left.
  /// UsageError if `path` is a directory where a file is expected, or the reverse; Error if the
  /// directory cannot be created or written, or another process (named in the text) holds the
  /// target. Warns if the file system has no locks.
  OutputTarget(const std::string& path, Kind kind);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;
  OutputTarget& operator=(const OutputTarget&) = delete;

 private:
  void make(const std::string& directory);

  std::vector<std::string> made_;  // the innermost first
  std::optional<FileLock> lock_;
};

}  // namespace triax
